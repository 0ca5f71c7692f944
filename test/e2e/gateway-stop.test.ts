import { expect, onTestFinished } from 'vitest'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat } from '../support/chat.ts'
import { test } from '../support/cluster-test.ts'
import { startTcpProxy } from '../support/faulty-cluster/tcp-proxy.ts'
import { startOwnGateway } from '../support/own-parts.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChat } from '../support/start-chat.ts'

const WAIT = { interval: 50 }
const LONG = 'Talk [[tokens=1800]]'

/** The model's engine runs one generation at a time. */
const { model } = FILE_MODELS['gateway-stop'].engine
const PRICES = demoPrices(FILE_MODELS['gateway-stop'].like)

test('a stopping gateway is unready at once, refuses new work, and ends by itself what outlasts its grace', async ({
  cluster,
}) => {
  const gateway = await startOwnGateway(cluster, { DRAIN_GRACE_MS: '4000', STREAM_HEADERS_AFTER_S: '60' })
  onTestFinished(gateway.stop)
  const [runs, waits] = [await cluster.createAccount('10'), await cluster.createAccount('10')]
  const posted = (await cluster.balance(runs)).posted
  const { baseUrl } = gateway
  const running = startChat({ baseUrl, apiKey: runs.apiKey, model, content: LONG })
  await running.firstText
  const waiting = chat({ baseUrl, apiKey: waits.apiKey, model, content: LONG })
  await expect.poll(async () => (await cluster.balance(waits)).openHolds, WAIT).toBe(1)

  const stopped = gateway.stop()
  await expect
    .poll(async () => await (await fetch(`${gateway.opsUrl}/readyz`)).text(), WAIT)
    .toBe('stopping\n')
  expect(await chat({ baseUrl, apiKey: runs.apiKey, model, content: 'Hi' })).toMatchObject({
    status: 503,
    error: { code: 'model_unavailable' },
    retryAfter: '1',
  })

  expect(await running.answer).toMatchObject({ status: 200, streamError: { code: 'upstream_error' } })
  expect(await waiting).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  await stopped
  expect(gateway.logs()).toMatch(/^(?![^]*release failed)[^]*stopped/u)
  await expectBalancedBooks(cluster, [runs, waits])
  expect((await cluster.balance(runs)).posted).toBe(posted)
})

test('while its bus is stalled, every stream of a stopping gateway ends with an error, and waits for credits at once', async ({
  cluster,
}) => {
  const url = new URL(cluster.redisUrl)
  const bus = await startTcpProxy([{ host: url.hostname, port: Number(url.port) }])
  onTestFinished(bus.close)
  url.port = String(bus.port)
  const gateway = await startOwnGateway(cluster, {
    BUS_REDIS_URL: url.href,
    DRAIN_GRACE_MS: '4000',
    STREAM_HEADERS_AFTER_S: '1',
  })
  onTestFinished(gateway.stop)
  const credits = priceTokens({ input: 100, cachedInput: 0, output: 1_100 }, PRICES)
  const account = await cluster.createAccount(formatCredits(credits))
  const call = { baseUrl: gateway.baseUrl, apiKey: account.apiKey, model, content: LONG }
  const running = startChat(call)
  await running.firstText
  // The first request holds most of the credits, so the second one waits for them, with keep-alives.
  const { promise: waits, resolve: onPiece } = Promise.withResolvers<string>()
  const waiting = chat({ ...call, fields: { max_tokens: 1_900 }, onPiece })
  await waits
  expect(await cluster.balance(account)).toMatchObject({ openHolds: 1 })

  bus.setState({ kind: 'stalled' })
  const stopped = gateway.stop()
  const first = await Promise.race([waiting, running.answer])
  expect(first).toMatchObject({ status: 200, text: '', streamError: { code: 'model_unavailable' } })
  expect(await running.answer).toMatchObject({ status: 200, streamError: { code: 'upstream_error' } })
  await stopped
  expect(gateway.logs()).toMatch(/^(?![^]*release failed)[^]*stopped/u)
  await expectBalancedBooks(cluster, [account])
})
