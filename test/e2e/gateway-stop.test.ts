import { expect, onTestFinished } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import { test } from '../support/cluster-test.ts'
import { startOwnGateway } from '../support/own-parts.ts'
import { FILE_MODELS } from '../support/shared-models.ts'
import { startChat } from '../support/start-chat.ts'

const WAIT = { interval: 50 }
const LONG = 'Talk [[tokens=1800]]'

/** The model's engine runs one generation at a time. */
const { model } = FILE_MODELS['gateway-stop'].engine

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
