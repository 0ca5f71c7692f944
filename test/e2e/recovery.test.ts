import { Redis } from 'ioredis'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { formatCredits } from '#libs/money/nano-credits.ts'
import { priceTokens } from '#test/support/price-tokens.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { demoPrices } from '../support/catalog.ts'
import type { ChatCall } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { embedOk } from '../support/embeddings.ts'
import { startChat, startChatOk, startChoices } from '../support/start-chat.ts'
import { until } from '../support/until.ts'

/**
 * The cache's blocks are larger than any prompt, so no prefix is cached, and equal answers have equal usage. Each
 * engine has fewer slots than there are chats, so each worker has some of the chats.
 */
const ENGINE = {
  model: 'demo-chat',
  files: 'demo',
  maxNumSeqs: 7,
  stepMs: 20,
  kvBlocks: 64,
  blockSize: 4_096,
}
/** The steps of this engine are slow, because its reasoning is only about 20 tokens long. */
const THINKING = { ...ENGINE, model: 'demo-reasoning', files: 'demo-reasoning', stepMs: 60 }
const EMBEDDING = { ...ENGINE, model: 'demo-embed', kind: 'embedding' } as const

const story = (sacks: number) => Array.from({ length: sacks }, (_, at) => `sack ${at}`).join(', ')
const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, why: { const: story(20) } },
      required: ['city', 'why'],
    },
  },
}
const GUIDED = {
  response_format: {
    type: 'json_schema',
    json_schema: {
      name: 'story',
      strict: true,
      schema: {
        type: 'object',
        properties: { story: { const: story(40) } },
        required: ['story'],
        additionalProperties: false,
      },
    },
  },
}
const INPUTS = Array.from({ length: 1_200 }, (_, at) => `Input number ${at}`)
/** An answer of about 3 s, long enough to be running when the fault comes. */
const LONG = 'Talk [[tokens=150]]'
const SHORT = 'Talk [[tokens=40]]'

type Call = Pick<ChatCall, 'content' | 'model' | 'fields'>

const CHATS: readonly Call[] = [
  ...Array.from({ length: 6 }, (_, at) => ({ content: `${LONG} ${at}` })),
  { content: LONG, fields: { temperature: 0.8, seed: 7 } },
  { content: LONG, fields: { max_tokens: 120 } },
  { content: LONG, fields: { logprobs: true, top_logprobs: 3, temperature: 0.8, seed: 9 } },
]
const PARSED: readonly Call[] = [
  { content: 'Think about the mill and its race.', model: 'demo-reasoning' },
  { content: 'What is the weather in Amsterdam?', fields: { tools: [TOOL] } },
  { content: LONG, fields: { stop: ['race'] } },
]

/** Sends requests. `started` resolves when all of them run. */
type Work = () => { started: Promise<unknown>; answers: Promise<unknown> }
type Undisturbed = { account: TestAccount; work: Work; answers: unknown; cost: bigint }

let cluster: TestCluster
let chats: Undisturbed
let parsed: Undisturbed
let embedding: Undisturbed
let guided: Undisturbed
let short: Undisturbed
let choices: Undisturbed
let echoed: Undisturbed

beforeAll(async () => {
  const engines = [ENGINE, THINKING, EMBEDDING]
  cluster = await startCluster({ workers: [engines, engines] })
  ;[chats, parsed, embedding, guided, short, choices, echoed] = await Promise.all([
    undisturbed((account) => chatWork(account, CHATS)),
    undisturbed((account) => chatWork(account, PARSED)),
    undisturbed((account) => ({
      started: until(async () => (await embeddingRunning()) > 0),
      answers: embedOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, input: INPUTS }),
    })),
    undisturbed((account) => ({
      started: Promise.resolve(),
      answers: askWhole(account, { content: 'A story, please', fields: GUIDED }),
    })),
    undisturbed((account) => chatWork(account, [{ content: SHORT }])),
    undisturbed(choicesWork),
    undisturbed(echoWork),
  ])
})

afterAll(async () => await cluster.stop())

const embeddingRunning = async () =>
  await cluster.metric(cluster.simulator, 'millrace_simulator_running', { model: 'demo-embed' })

function chatWork({ apiKey }: TestAccount, calls: readonly Call[]) {
  const started = calls.map((call) => startChatOk({ baseUrl: cluster.baseUrl, apiKey, ...call }))
  return {
    started: Promise.all(started.map(async ({ firstText }) => await firstText)),
    answers: Promise.all(started.map(async ({ answer }) => await answer)),
  }
}

function choicesWork({ apiKey }: TestAccount) {
  const fields = { n: 4, temperature: 0.8, seed: 7 }
  const { firstText, answer } = startChoices({ baseUrl: cluster.baseUrl, apiKey, content: LONG, fields })
  return { started: firstText, answers: answer }
}

/** A conversation as the template renders it, so that the model answers it. */
const RAW = `<|im_start|>user\n${LONG}<|im_end|>\n<|im_start|>assistant\n`

const ECHO = { model: ENGINE.model, prompt: RAW, echo: true, logprobs: 2, max_tokens: 120, temperature: 0 }

/** Streams an answer that begins with its prompt. Its chunks are joined. */
function echoWork({ apiKey }: TestAccount) {
  const openai = new OpenAI({ baseURL: cluster.baseUrl, apiKey, maxRetries: 0 })
  const firstText = Promise.withResolvers<void>()
  const read = async () => {
    const answer = { text: '', tokens: new Array<string>(), top: new Array<unknown>() }
    for await (const { choices: parts } of await openai.completions.create({ ...ECHO, stream: true })) {
      answer.text += parts[0]?.text
      answer.tokens.push(...(parts[0]?.logprobs?.tokens ?? []))
      answer.top.push(...(parts[0]?.logprobs?.top_logprobs ?? []))
      firstText.resolve()
    }
    return answer
  }
  return { started: firstText.promise, answers: read() }
}

const Whole = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }), finish_reason: z.string() })),
  usage: z.unknown(),
})

/** Asks without streaming, and returns the answer. */
async function askWhole({ apiKey }: TestAccount, { content, fields }: Call) {
  const response = await fetch(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content }], ...fields }),
  })
  return Whole.parse(await response.json())
}

/** Resolves with the balances of these accounts when nothing is held and the books balance. */
async function posted(works: readonly { account: TestAccount }[]) {
  const accounts = works.map(({ account }) => account)
  await expectBalancedBooks(cluster, accounts)
  return await Promise.all(accounts.map(async (account) => (await cluster.balance(account)).posted))
}

async function undisturbed(workOf: (account: TestAccount) => ReturnType<Work>): Promise<Undisturbed> {
  const account = await cluster.createAccount('100')
  const before = (await cluster.balance(account)).posted
  const work = () => workOf(account)
  const answers = await work().answers
  await until(async () => (await cluster.balance(account)).openHolds === 0)
  return { account, work, answers, cost: before - (await cluster.balance(account)).posted }
}

/** Runs these works again, with `disturb` while they run. Answers and costs must be the same as before. */
async function expectSame(works: readonly Undisturbed[], disturb: () => Promise<void>) {
  const before = await posted(works)
  const again = works.map(({ work }) => work())
  const answers = Promise.all(again.map(async (work) => await work.answers))
  await Promise.all(again.map(async ({ started }) => await started))
  await disturb()
  expect(await answers).toEqual(works.map((work) => work.answers))
  const after = await posted(works)
  expect(after.map((amount, at) => (before[at] ?? 0n) - amount)).toEqual(works.map(({ cost }) => cost))
}

function first<Part>([part]: readonly Part[]): Part {
  if (part === undefined) throw new Error('the cluster has one of each')
  return part
}

const recoveries = async () =>
  await cluster.metric(first(cluster.gateways), 'millrace_gateway_recoveries_total')

const readiness = async (index: number) => {
  const response = await fetch(`${cluster.workers[index]?.opsUrl}/readyz`)
  return `${response.status} ${await response.text()}`
}

test('a worker killed with -9: its streams go on elsewhere, token by token, and cost the same', async () => {
  const before = await recoveries()
  await expectSame([chats, choices, echoed], async () => await cluster.workers[0]?.kill())
  expect(await recoveries()).toBeGreaterThan(before)
  await cluster.restartWorker(0)
})

test('both workers killed and started again: all kinds of output go on in the middle or begin anew', async () => {
  const account = await cluster.createAccount('100')
  const [before, recoveriesBefore] = [await posted([{ account }]), await recoveries()]
  const [{ baseUrl }, { apiKey }] = [cluster, account]
  const partlySent = startChat({ baseUrl, apiKey, content: 'A story, please', fields: GUIDED })
  await expectSame([parsed, embedding, guided], async () => {
    await partlySent.firstText
    await Promise.all(cluster.workers.map(async (worker) => await worker.kill()))
    await Promise.all([cluster.restartWorker(0), cluster.restartWorker(1)])
  })
  // All of them were still running and moved: the parsed chats, the embedding and the guided answer.
  expect(await recoveries()).toBeGreaterThanOrEqual(recoveriesBefore + PARSED.length + 2)
  // A grammar cannot continue in the middle of a text, and the client has already received a part.
  expect(await partlySent.answer).toMatchObject({ streamError: { code: 'upstream_error' } })
  expect(await posted([{ account }])).toEqual(before)
})

test('a generation whose hold has grown goes on elsewhere with the larger hold, and costs the same', async () => {
  const content = 'Talk on a small balance [[tokens=240]]'
  const rich = await cluster.createAccount('100')
  const known = await startChatOk({ baseUrl: cluster.baseUrl, apiKey: rich.apiKey, content }).answer
  const input = known.promptTokens
  const cost = (output: number) => priceTokens({ input, cachedInput: 0, output }, demoPrices(ENGINE.model))

  const poor = await cluster.createAccount(formatCredits(cost(60)))
  const growths = async () =>
    await cluster.metric(first(cluster.gateways), 'millrace_gateway_hold_growths_total', {
      answer: 'granted',
    })
  const before = await growths()
  const { answer, firstText } = startChatOk({ baseUrl: cluster.baseUrl, apiKey: poor.apiKey, content })
  await firstText
  const rest = formatCredits(cost(250) - cost(60))
  const topUp = { account: poor.id, credits: rest, idempotencyKey: poor.id, reason: 'test' }
  await cluster.admin.call(ADMIN.topUp, topUp)
  await expect.poll(growths, { interval: 20 }).toBeGreaterThan(before)
  await Promise.all(cluster.workers.map(async (worker) => await worker.kill()))
  await Promise.all([cluster.restartWorker(0), cluster.restartWorker(1)])

  expect(await answer).toEqual(known)
  expect(await posted([{ account: poor }])).toEqual([cost(250) - cost(known.completionTokens)])
})

test('a worker that is frozen and thaws: the client sees one stream', async () => {
  const lateEvents = async () =>
    await cluster.metric(first(cluster.gateways), 'millrace_gateway_late_events_total')
  const [before, lateBefore] = [await recoveries(), await lateEvents()]
  await expectSame([chats], async () => {
    cluster.workers[0]?.signal('SIGSTOP')
    await expect.poll(recoveries).toBeGreaterThan(before)
    cluster.workers[0]?.signal('SIGCONT')
  })
  // The fence refused the events that the worker sent after it had thawed.
  await expect.poll(lateEvents).toBeGreaterThan(lateBefore)
})

test('an engine that dies: its worker gives its streams back', async () => {
  const url = `${cluster.simulator.opsUrl}/faults`
  const engines = z.array(z.object({ listen: z.string() })).parse(await (await fetch(url)).json())
  const setDead = async (dead: boolean) => {
    const change = { method: 'POST', body: JSON.stringify({ dead, engine: first(engines).listen }) }
    expect((await fetch(url, change)).ok).toBe(true)
  }
  const before = await recoveries()
  await expectSame([chats], async () => await setDead(true))
  expect(await recoveries()).toBeGreaterThan(before)
  await setDead(false)
  await expect.poll(async () => await readiness(0)).toMatch(/^200/u)
})

test('a worker that drains hands its streams over, and stays unready until it is stopped', async () => {
  await expectSame([chats], async () => {
    const answer = await fetch(`${cluster.workers[0]?.opsUrl}/drain`, { method: 'POST' })
    expect(answer.status).toBe(202)
    expect(await readiness(0)).toContain('draining')
    const handedBack = async () =>
      await cluster.metric(first(cluster.workers), 'millrace_worker_handed_back_total')
    await expect.poll(handedBack).toBeGreaterThan(0)
  })
  expect(await cluster.metric(first(cluster.workers), 'millrace_worker_running')).toBe(0)
  expect(await readiness(0)).toContain('503')
  expect(cluster.workers[0]?.hasExited()).toBe(false)
})

test('all workers are restarted in turn under load: no error, and each stops at once', async () => {
  const over = new AbortController()
  let count = 0
  const before = first(await posted([short]))
  const callers = Array.from({ length: 4 }, async () => {
    while (!over.signal.aborted) {
      count += 1
      expect(await short.work().answers).toEqual(short.answers)
    }
  })
  await expectSame([chats], async () => {
    for (const [index, worker] of cluster.workers.entries()) {
      const startMs = performance.now()
      await worker.stop()
      expect(performance.now() - startMs).toBeLessThan(10_000)
      await cluster.restartWorker(index)
    }
    over.abort()
    await Promise.all(callers)
  })
  expect(before - first(await posted([short]))).toBe(short.cost * BigInt(count))
})

test('cut connections to the bus and to the queue cost nothing', async () => {
  const before = await recoveries()
  await expectSame([chats], async () => {
    const redis = new Redis(cluster.redis.url)
    for (const type of ['PUBSUB', 'NORMAL']) await redis.call('CLIENT', ['KILL', 'TYPE', type])
    redis.disconnect()
  })
  expect(await recoveries()).toBe(before)
})

test('a Redis that is killed and comes back empty', async () => {
  await expectSame([chats], async () => {
    const redis = new Redis(cluster.redis.url)
    expect(await redis.flushall()).toBe('OK')
    redis.disconnect()
    await cluster.redis.kill()
    await cluster.redis.start()
  })
})
