import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { EVENT_MARKER, NEED_MARKER } from '../fixtures/other-release/markers.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { OTHER_RELEASE } from '../support/other-release.ts'
import { startOwnGateway, startOwnWorkers } from '../support/own-parts.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { FILE_MODELS, UNSERVED_MODELS } from '../support/shared-models.ts'
import { startChatOk } from '../support/start-chat.ts'

const LONG = 'Talk [[tokens=400]]'

let cluster: SharedCluster
let account: TestAccount

beforeAll(async () => {
  cluster = await sharedCluster()
  account = await cluster.createAccount('10')
})

test('a worker of another release: its unknown fields are ignored, an unknown event ends its own stream alone', async () => {
  const { model } = UNSERVED_MODELS['version-skew']
  const other = await startOwnWorkers(cluster, [[{ model, files: 'demo', stepMs: 3 }]], OTHER_RELEASE)
  onTestFinished(() => other.stop())
  const call = { baseUrl: cluster.baseUrl, apiKey: account.apiKey, model }
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
  const { engine } = FILE_MODELS['version-skew']
  const gateway = await startOwnGateway(cluster, OTHER_RELEASE)
  onTestFinished(() => gateway.stop())
  const call = { baseUrl: gateway.baseUrl, apiKey: account.apiKey, model: engine.model }
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

  const other = await startOwnWorkers(cluster, [[engine]], OTHER_RELEASE)
  onTestFinished(() => other.stop())
  expect((await waiting.answer).text).toContain('You said: Hello')
  const [worker] = other.workers
  if (worker === undefined) throw new Error('one worker was started')
  expect(await cluster.metric(worker, 'millrace_worker_generations_total', { result: 'ran' })).toBe(1)
  await expectBalancedBooks(cluster, [account])
})
