import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectBalancedBooks } from '../support/books.ts'
import { chat } from '../support/chat.ts'
import type { TestAccount, TestGateway } from '../support/cluster.ts'
import { IS_LONG, runs } from '../support/long.ts'
import { startOwnGateway, startOwnWorkers, type OwnWorkers } from '../support/own-parts.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'
import { mutantEnv } from '../chaos/mutants/mutant-env.ts'
import { PAY_MUTANTS } from '../chaos/mutants/pay-mutants.ts'
import { openBooks, type Books } from '../chaos/books.ts'
import { createCallers, type Caller } from './random-endings.ts'

/*
 * A caller decides how its requests end. It must not get output, or have a prompt computed, without paying. Here accounts
 * end their requests in every way that they can, and the tokens that the engines computed are compared with the tokens
 * that were paid.
 */

const CHAT = UNSERVED_MODELS['unpaid-work'].model
const EMBED = UNSERVED_MODELS['unpaid-work-embeddings'].model
const ENGINES = [
  { model: CHAT, files: 'demo', maxNumSeqs: 16, stepMs: 8, sequenceMs: 0, maxModelLen: 16_384 },
  { model: EMBED, files: 'demo', kind: 'embedding' as const, maxNumSeqs: 8, stepMs: 4 },
]
const DEADLINE_MS = 3_000
const CREDITS = '1000'
/**
 * The most tokens of one call that an engine computes and nobody pays: a stopped generation goes on until the engine has
 * the message, and its last token is computed only to end it. The short form runs beside other tests and has few calls:
 * there, a busy machine loses a report of a long prompt now and then. Each mistake costs 75 tokens a call and more.
 */
const IN_FLIGHT = runs(40, 8)
const SEED = 20_300_701

let cluster: SharedCluster
let books: Books

beforeAll(async () => {
  cluster = await sharedCluster()
  books = openBooks(cluster.databaseUrl)
})

afterAll(async () => await books.close())

/** The parts that run the models of this file, all with the same mistake or without one. */
type Parts = { readonly own: OwnWorkers; readonly gateway: TestGateway; stop(): Promise<void> }

async function startParts(env: Readonly<Record<string, string>> = {}): Promise<Parts> {
  const own = await startOwnWorkers(cluster, [ENGINES], env)
  const gateway = await startOwnGateway(cluster, { GENERATION_DEADLINE_MS: String(DEADLINE_MS), ...env })
  return {
    own,
    gateway,
    async stop() {
      await gateway.stop()
      await own.stop()
    },
  }
}

async function computedTokens({ own }: Parts): Promise<number> {
  const counts = ['tokens_total', 'prompt_tokens_total'].flatMap((name) =>
    [CHAT, EMBED].map(async (model) => {
      return await cluster.metric(own.simulator, `millrace_simulator_${name}`, { model })
    }),
  )
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** Sends `calls` requests of one account, and returns how many tokens were computed and not paid. */
async function runCalls(parts: Parts, account: TestAccount, calls: number): Promise<number> {
  const callers = createCallers({
    baseUrl: parts.gateway.baseUrl,
    apiKey: account.apiKey,
    models: { chat: CHAT, embedding: EMBED },
    seed: SEED,
  })
  const before = await computedTokens(parts)
  let next = 0
  const call: Caller = async () => {
    while (next < calls) await callers.end((next += 1))
  }
  await Promise.all(Array.from({ length: 12 }, call))
  await expect.poll(async () => (await cluster.balance(account)).openHolds).toBe(0)
  const running = async () => await cluster.metric(parts.own.simulator, 'millrace_simulator_running')
  await expect.poll(running).toBe(0)
  const rows = [...(await books.all([account.id])).values()]
  const paid = rows.filter(({ charged }) => charged > 0n)
  const paidTokens = paid.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0)
  expect(rows.length).toBeGreaterThan(calls / 4)
  return (await computedTokens(parts)) - before - paidTokens
}

describe('without a mistake', () => {
  let parts: Parts
  let account: TestAccount

  beforeAll(async () => {
    parts = await startParts()
    account = await cluster.createAccount(CREDITS)
  })

  afterAll(async () => await parts.stop())

  const ask = async (content: string, fields: object) => {
    const { baseUrl } = parts.gateway
    return await chat({ baseUrl, apiKey: account.apiKey, model: CHAT, content, fields: { ...fields } })
  }

  test(
    'whatever the ends of its requests, an account pays for what was computed',
    { timeout: 3_600_000 },
    async () => {
      const calls = runs(150, 20_000)
      expect(await runCalls(parts, account, calls)).toBeLessThan(calls * IN_FLIGHT)
      await expectBalancedBooks(cluster, [account])
    },
  )

  test('a generation at a dead end is charged, each time', async () => {
    const posted = async () => (await cluster.balance(account)).posted
    for (let time = 0; time < 3; time += 1) {
      const before = await posted()
      const answer = await ask('Write.', {
        structured_outputs: { regex: String.raw`[a-z]{20}[\ud800-\udfff]` },
      })
      expect(answer).toMatchObject({ status: 200, finishReason: 'length' })
      await expect.poll(posted).toBeLessThan(before)
    }
    const before = await posted()
    const refused = await ask('Write.', { structured_outputs: { regex: String.raw`[\ud800-\udfff]` } })
    expect(refused).toMatchObject({ status: 400, error: { code: 'invalid_request' } })
    await expect.poll(posted).toBeLessThan(before)
  })

  test.each([
    [{ grammar: 'root ::= [^#]* "#" dead\ndead ::= dead "x"' }],
    [{ grammar: String.raw`root ::= [a-z]{20} [^\x00-\U0010FFFF]` }],
    [{ regex: String.raw`[a-z]{20}[^\s\S]` }],
    [
      {
        json: {
          type: 'object',
          properties: { a: { type: 'string' }, b: { type: 'string', pattern: String.raw`^[^\s\S]$` } },
          required: ['a', 'b'],
        },
      },
    ],
    [{ json: { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] } }],
  ])('a grammar with a dead end is refused before it costs anything: %j', async (constraint) => {
    const { posted } = await cluster.balance(account)
    expect(await ask('Write.', { structured_outputs: constraint })).toMatchObject({ status: 400 })
    expect(await cluster.balance(account)).toMatchObject({ posted, openHolds: 0 })
  })

  test('a failure under a grammar is charged on the sandbox model that fails in its text, too', async () => {
    const fresh = await cluster.createAccount('1')
    const answer = await chat({
      baseUrl: cluster.baseUrl,
      apiKey: fresh.apiKey,
      model: 'test/midstream-error',
      content: 'Hi',
      fields: { structured_outputs: { regex: '[a-z]+' } },
    })
    expect(answer).toMatchObject({ status: 200, finishReason: 'length' })
    await expect.poll(async () => (await cluster.balance(fresh)).posted).toBeLessThan(1_000_000_000n)
  })

  test('failures of unknown cause are free up to the free tokens of an hour', async () => {
    const fresh = await cluster.createAccount('1000')
    const filler = 'word '.repeat(8_000)
    const fail = async () => {
      const fields = { max_tokens: 100 }
      await chat({
        baseUrl: cluster.baseUrl,
        apiKey: fresh.apiKey,
        model: 'test/midstream-error',
        content: filler,
        fields,
      })
    }
    for (let failed = 0; failed < 14; failed += 1) await fail()
    await expectBalancedBooks(cluster, [fresh])
    const rows = [...(await books.all([fresh.id])).values()]
    expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['fault']))
    const free = rows.filter(({ charged }) => charged === 0n)
    const freeTokens = free.reduce((sum, row) => sum + row.promptTokens + row.completionTokens, 0)
    expect(freeTokens).toBeLessThanOrEqual(100_000)
    expect(free.length).toBeLessThan(rows.length)
  })
})

describe.runIf(IS_LONG)('with a mistake', () => {
  test.each(PAY_MUTANTS)(
    'tokens are computed and not paid: $name',
    { timeout: 600_000 },
    async ({ name }) => {
      const parts = await startParts(mutantEnv(name))
      try {
        const account = await cluster.createAccount(CREDITS)
        const calls = 200
        expect(await runCalls(parts, account, calls)).toBeGreaterThan(calls * IN_FLIGHT)
      } finally {
        await parts.stop()
      }
    },
  )
})
