import { expect, onTestFinished } from 'vitest'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import { chat, type ChatCall } from '../support/chat.ts'
import { test as clusterTest } from '../support/cluster-test.ts'
import { startOwnWorkers } from '../support/own-parts.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'
import type { StreamedAnswer } from '../support/sse-events.ts'

const { model, like } = UNSERVED_MODELS['many-streams']
const ENGINE = { model, files: 'demo', maxNumSeqs: 40, stepMs: 2, sequenceMs: 0 }

const test = clusterTest.extend('account', { scope: 'file' }, ({ cluster }) => cluster.createAccount('1000'))

test('200 streams at once over two gateways and two workers are exact to the token and the nano-credit', async ({
  cluster,
  account,
}) => {
  const own = await startOwnWorkers(cluster, [[ENGINE], [ENGINE]])
  onTestFinished(own.stop)
  const before = await cluster.balance(account)
  const answers = await Promise.all(
    Array.from({ length: 200 }, async (_, turn) => {
      const content = `Stream ${turn}: ${'äöü 🌾 '.repeat(turn % 40)}end`
      const baseUrl = cluster.gateways[turn % 2]?.baseUrl ?? ''
      return { content, ...(await chatPatiently({ baseUrl, apiKey: account.apiKey, model, content })) }
    }),
  )
  for (const { content, text, finishReason } of answers) {
    expect(text).toBe(`You said: ${content}`)
    expect(finishReason).toBe('stop')
  }

  await expectBalancedBooks(cluster, [account])
  const prices = demoPrices(like)
  let owed = 0n
  for (const { promptTokens, cachedTokens, completionTokens } of answers) {
    owed += priceTokens({ input: promptTokens, cachedInput: cachedTokens, output: completionTokens }, prices)
  }
  const { posted } = await cluster.balance(account)
  expect(owed).toBeGreaterThan(0n)
  expect(before.posted - posted).toBe(owed)

  for (const worker of own.workers) {
    expect(
      await cluster.metric(worker, 'millrace_worker_generations_total', { result: 'ran' }),
    ).toBeGreaterThan(20)
  }
})

/** Asks again while the service refuses to take the request, as it may while the machine stands still. */
async function chatPatiently(call: ChatCall): Promise<StreamedAnswer> {
  for (;;) {
    const answer = await chat(call)
    if ('text' in answer) return answer
    expect(answer).toMatchObject({ status: 503, error: { code: 'model_unavailable' } })
  }
}
