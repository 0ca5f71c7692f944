import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { HomeWaitEnd } from '#apps/gateway/generation/dispatch/own-job.ts'
import { startOwnWorkers, type OwnWorkers } from '../support/own-parts.ts'
import { sumMetric, type TestAccount } from '../support/cluster.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'

const { model } = UNSERVED_MODELS['warm-conversations']
const ENGINE = { model, files: 'demo', maxNumSeqs: 8, stepMs: 1, sequenceMs: 0 }

let cluster: SharedCluster
let own: OwnWorkers
let account: TestAccount

beforeAll(async () => {
  cluster = await sharedCluster()
  own = await startOwnWorkers(cluster, [[ENGINE], [ENGINE]])
  account = await cluster.createAccount('100')
})

afterAll(async () => await own.stop())

const Message = z.object({ role: z.enum(['user', 'assistant']), content: z.string() })
type Message = z.infer<typeof Message>
const Answer = z.object({
  choices: z.array(z.object({ message: Message })),
  usage: z.object({ prompt_tokens_details: z.object({ cached_tokens: z.int() }) }),
})

async function send(messages: readonly Message[], fields: object = {}, headers: Record<string, string> = {}) {
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.apiKey}`, ...headers },
    body: JSON.stringify({ model, messages, ...fields }),
  })
  expect(response.status).toBe(200)
  const body = Answer.parse(await response.json())
  const [choice] = body.choices
  if (choice === undefined) throw new Error('there is no answer')
  return { answer: choice.message, cachedTokens: body.usage.prompt_tokens_details.cached_tokens }
}

/** Returns how many waits for a home ended in this way. No other test has two workers of one model in a gateway. */
async function readEnds(end: HomeWaitEnd): Promise<number> {
  const texts = await Promise.all(
    cluster.gateways.map(async ({ opsUrl }) => await (await fetch(`${opsUrl}/metrics`)).text()),
  )
  return texts.reduce((sum, text) => sum + sumMetric(text, 'millrace_gateway_home_waits_total', { end }), 0)
}

/** Returns a function that sends a request with its number, and returns how many waits for a home have ended in this way so far. */
async function endsOf(end: HomeWaitEnd, request: (number: number) => Promise<unknown>) {
  const before = await readEnds(end)
  let number = 0
  return async () => {
    number += 1
    await request(number)
    return (await readEnds(end)) - before
  }
}

const LONG = 'the mill and the river and the wheel and the stone '.repeat(10)

test('a later turn goes to the worker that had the turn before, which has cached it', async () => {
  const messages: Message[] = [{ role: 'user', content: LONG }]
  const cached: number[] = []
  const attempt = await endsOf('warm', async (number) => {
    const { answer, cachedTokens } = await send(messages)
    cached.push(cachedTokens)
    messages.push(answer, { role: 'user', content: `Turn ${number}` })
  })
  await expect.poll(attempt).toBeGreaterThan(1)
  expect(cached.at(-1)).toBeGreaterThan(100)
})

test('a first turn goes to the least loaded worker', async () => {
  const first = async (number: number) => await send([{ role: 'user', content: `First turn ${number}` }])
  await expect.poll(await endsOf('placed', first)).toBeGreaterThan(0)
})

test.each([
  ['x-session-affinity', {}, { 'x-session-affinity': 'one' }],
  ['x-session-id', {}, { 'x-session-id': 'two' }],
  ['prompt_cache_key', { prompt_cache_key: 'three' }, {}],
])('a first turn with %s goes to the worker of the same name', async (_, fields, headers) => {
  const first = async (number: number) =>
    await send([{ role: 'user', content: `${number} ${LONG}` }], fields, headers)
  await expect.poll(await endsOf('warm', first)).toBeGreaterThan(0)
})
