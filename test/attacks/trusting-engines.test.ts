import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestAccount } from '../support/cluster.ts'
import { startOwnWorkers, type OwnWorkers } from '../support/own-parts.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'
import { startChat } from '../support/start-chat.ts'

// One engine has the servicer in Rust: it dies of what it does not check, and loses tokens. The other has the servicer
// in Python. Their workers keep the one alive, and notice its losses.

const MODEL = UNSERVED_MODELS['trusting-engines'].model
const ENGINE = { model: MODEL, files: 'demo', maxNumSeqs: 16, maxModelLen: 512, stepMs: 10 }
/** The length of the vocabulary of the demo model, with its padding. */
const VOCABULARY = 2_048
const SERVES_ALL = { ENGINES_THAT_LOSE_TOKENS: 'serve' }

let cluster: SharedCluster
let own: OwnWorkers
let account: TestAccount
let openai: OpenAI

beforeAll(async () => {
  cluster = await sharedCluster()
  const trusting = { ...ENGINE, servicerVersion: '0.32.0+0.14.0-rust' as const }
  own = await startOwnWorkers(cluster, [[trusting], [ENGINE]], SERVES_ALL)
  account = await cluster.createAccount('10')
  openai = new OpenAI({ baseURL: cluster.baseUrl, apiKey: account.apiKey, maxRetries: 0 })
})

afterAll(async () => await own.stop())

const HOSTILE: readonly (readonly [RegExp, object])[] = [
  [/token_id\(s\) \[2048\] in logit_bias .*out-of-vocab/, { logit_bias: { [VOCABULARY]: 1 } }],
  [/token_id\(s\) \[999999999\] in logit_bias/, { logit_bias: { 5: 1, 999_999_999: -100 } }],
  [/The decoder prompt cannot be empty/, { prompt: '', echo: true }],
  [/top_p/, { top_p: 1e-46 }],
]

test.for(HOSTILE)(
  'no engine dies of a request that is refused with %s, and it is free',
  async ([words, body]) => {
    const { answer, firstText } = startChat({
      baseUrl: cluster.baseUrl,
      apiKey: account.apiKey,
      model: MODEL,
      content: 'word '.repeat(80),
      fields: { temperature: 0 },
    })
    await firstText
    const guest = await cluster.createAccount('1')
    const before = await cluster.balance(guest)
    const client = new OpenAI({ baseURL: cluster.baseUrl, apiKey: guest.apiKey, maxRetries: 0 })
    for (let sent = 0; sent < 6; sent += 1) {
      const request = { model: MODEL, prompt: 'Hello', max_tokens: 2, ...body }
      await expect(client.completions.create(request)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(words),
      })
    }
    await expect.poll(async () => (await cluster.balance(guest)).held).toBe(0n)
    expect((await cluster.balance(guest)).posted).toBe(before.posted)
    expect(await answer).toMatchObject({ status: 200, finishReason: 'stop' })
    expect(own.simulator.logs()).not.toContain('engine core died')
  },
)

test('a generation whose engine loses its tokens goes on in another engine', async () => {
  const request = {
    model: MODEL,
    prompt: 'Hello there',
    echo: true,
    logprobs: 1,
    max_tokens: 6,
    temperature: 0,
  }
  const logs = () => own.workers.map((worker) => worker.logs()).join('\n')
  for (let sent = 0; sent < 30 && !logs().includes('handed back'); sent += 1) {
    const { choices, usage } = await openai.completions.create(request)
    const written = usage?.completion_tokens ?? 0
    expect(choices[0]?.logprobs?.tokens).toHaveLength((usage?.prompt_tokens ?? 0) + written)
  }
  expect(logs()).toContain('handed back')
  expect(logs()).toContain('does not know its prompt')
})
