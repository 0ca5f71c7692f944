import { expect, onTestFinished, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startOwnGateway } from '../support/own-parts.ts'
import { sharedCluster } from '../support/shared-cluster.ts'

const LIMIT = 3_000
/** The demo model's limit of output. A hold of the poor account pays for 256 tokens at first. */
const REQUESTS = 30

test('a key with small holds that grow gets no more tokens in a minute than its limit', async () => {
  const cluster = await sharedCluster()
  const gateway = await startOwnGateway(cluster, {})
  onTestFinished(gateway.stop)
  const { baseUrl } = gateway
  const rich = await cluster.createAccount('1')
  await expect
    .poll(async () => (await chat({ baseUrl, apiKey: rich.apiKey, content: 'Hi' })).status)
    .toBe(200)
  const poor = await cluster.createAccount('0.0095')
  for (let turn = 0; turn < 24; turn += 1) await chatOk({ baseUrl, apiKey: poor.apiKey, content: 'Hi' })
  const key = await cluster.admin.call(ADMIN.createKey, {
    account: poor.id,
    tokensPerMinute: LIMIT,
  })
  // All answers must fall into one minute.
  await expect.poll(() => 60 - ((Date.now() / 1_000) % 60), { interval: 500 }).toBeGreaterThan(25)
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, async () =>
      chat({ baseUrl, apiKey: key.secret, content: 'Talk [[tokens=2000]]' }),
    ),
  )
  const served = answers.filter((answer) => 'text' in answer)
  expect(served.length).toBeGreaterThan(1)
  const tokens = served.reduce((sum, answer) => sum + answer.promptTokens + answer.completionTokens, 0)
  // The last grants of the minute may exceed the limit: one hold, and one growth.
  expect(tokens).toBeLessThan(LIMIT + 1_000)
  for (const answer of served) expect(answer.finishReason).toBe('length')
  await expectBalancedBooks(cluster, [poor])
})
