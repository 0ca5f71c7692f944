import { afterEach, expect, onTestFinished, test } from 'vitest'
import { EVENT_MARKER, NEED_MARKER } from '../fixtures/other-release/markers.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { OTHER_RELEASE } from '../support/other-release.ts'
import { startApp } from '../support/processes.ts'
import { startChatOk } from '../support/start-chat.ts'

const ENGINE = { model: 'demo-chat', files: 'demo', maxModelLen: 16_384, stepMs: 3 }
const LONG = 'Talk [[tokens=400]]'

let cluster: TestCluster | undefined

afterEach(async () => {
  await cluster?.stop()
  cluster = undefined
})

async function start(options: Parameters<typeof startCluster>[0]) {
  cluster = await startCluster({ workers: [[ENGINE]], ...options })
  const account = await cluster.createAccount('10')
  return { cluster, account, call: { baseUrl: cluster.baseUrl, apiKey: account.apiKey } }
}

test('a worker of another release: its unknown fields are ignored, an unknown event ends its own stream alone', async () => {
  const { cluster, account, call } = await start({ workerEnv: OTHER_RELEASE })
  const beside = startChatOk({ ...call, content: LONG })
  await beside.firstText
  const failed = await chat({ ...call, content: `Hello ${EVENT_MARKER}` })
  expect(failed).toMatchObject({ status: 502, error: { code: 'upstream_error' } })
  const { text, completionTokens } = await beside.answer
  expect(text.length).toBeGreaterThan(1_000)
  expect(completionTokens).toBe(401)
  const { text: after } = await chatOk({ ...call, content: 'Hello' })
  expect(after).toContain('You said: Hello')
  // The failed one costs nothing, and no process was taken for dead.
  await expectBalancedBooks(cluster, [account])
})

test('a gateway of another release: its unknown fields are ignored, and what needs its release waits for it', async () => {
  const { cluster, account, call } = await start({ gatewayEnv: OTHER_RELEASE })
  const { text } = await chatOk({ ...call, content: 'Hello' })
  expect(text).toContain('You said: Hello')
  const long = 'Large: '.padEnd(20_000, 'word ')
  const large = await chatOk({ ...call, content: long, fields: { max_tokens: 5 } })
  expect(large.completionTokens).toBe(5)

  const waiting = startChatOk({ ...call, content: `Hello ${NEED_MARKER}` })
  let isAnswered = false
  void waiting.answer.then(() => (isAnswered = true))
  // This release's worker has room, and claims each second.
  for (let i = 0; i < 3; i++) await chatOk({ ...call, content: LONG })
  expect(isAnswered).toBe(false)

  const listen = `127.0.0.1:${await freePort()}`
  const simulator = await startApp('simulator', {
    SIMULATOR_ENGINES: JSON.stringify([{ ...ENGINE, listen }]),
  })
  onTestFinished(() => simulator.stop())
  const other = await startApp('worker', {
    QUEUE_REDIS_URL: cluster.redis.url,
    BUS_REDIS_URL: cluster.redis.url,
    WORKERS: JSON.stringify([{ model: ENGINE.model, files: ENGINE.files, engine: listen }]),
    ...OTHER_RELEASE,
  })
  onTestFinished(() => other.stop())
  expect((await waiting.answer).text).toContain('You said: Hello')
  expect(await cluster.metric(other, 'millrace_worker_generations_total', { result: 'ran' })).toBe(1)
  await expectBalancedBooks(cluster, [account])
})
