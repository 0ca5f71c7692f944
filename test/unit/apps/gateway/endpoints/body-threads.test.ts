import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { chatCompletions } from '#apps/gateway/endpoints/chat-completions/endpoint.ts'
import { createBodyThreads, type BodyThreadLimits } from '#apps/gateway/endpoints/body-threads.ts'
import { prepareBody } from '#apps/gateway/endpoints/prepare-request.ts'
import { NO_CONVERSATION } from '#apps/gateway/generation/request/conversation.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { TaskOwner } from '#libs/threads/task-pool.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ id: 'demo', contextWindow: 4_096 })
const prepareChat = chatCompletions.prepare

function createThread(limits: Partial<BodyThreadLimits> = {}) {
  const threads = openThreads(limits)
  onTestFinished(async () => await threads.close())
  return threads
}

function openThreads(limits: Partial<BodyThreadLimits> = {}) {
  const threads = createBodyThreads({
    limits: { threads: 1, waiting: 8, waitingOfAccount: 8, taskMs: 60_000, heapMib: 512, ...limits },
    log: pino({ level: 'silent' }),
  })
  return {
    close: threads.close,
    /** Prepares `body`, an object or a JSON text. */
    prepare: async (body: unknown, account = 'a', given: Partial<TaskOwner> = {}) => {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const { signal } = new AbortController()
      const owner = { id: account, begin: () => true, signal, ...given }
      return await threads.prepareOnThread(prepareChat, Buffer.from(text), {
        models: [model],
        seated: [model.id],
        owner,
        reasoningKeys: { secrets: [], account },
      })
    },
  }
}

/** The thread of the tests that neither lose it nor limit it; starting one, with its modules, takes most of such a test. */
const shared = openThreads()
afterAll(async () => await shared.close())

const chat = (content: string, more: object = {}) => ({
  model: 'demo',
  messages: [{ role: 'user', content }],
  ...more,
})

/** Returns a body with so many values that it keeps the thread busy and needs more memory than a small heap has. */
const heavy = () => withObjects(100_000, (index) => `{"k${index}":1}`)

/** The largest body with the largest number of values. */
const largest = () => withObjects(330_000, (index) => `{"${`${index}é`.padEnd(80, 'x')}":{}}`)

/** Returns JSON text, not an object, because this process would need as long to make the objects as the thread does. */
function withObjects(count: number, toObject: (index: number) => string): string {
  const objects = Array.from({ length: count }, (_, index) => toObject(index))
  return `${JSON.stringify(chat('Hi')).slice(0, -1)},"metadata":[${objects.join(',')}]}`
}

it('returns the same as preparation in the process, one body after the other', async () => {
  const { prepare } = shared
  const texts = ['a', 'é😀', 'c']
  const prepared = await Promise.all(texts.map(async (text) => await prepare(chat(text, { stream: true }))))
  for (const [i, text] of texts.entries()) {
    const body = Buffer.from(JSON.stringify(chat(text, { stream: true })))
    expect(prepared[i]).toEqual(prepareBody(prepareChat, body, { find: () => model, seated: [model.id] }))
    expect(prepared[i]?.conversation?.beginnings).toHaveLength(1)
    expect(prepareBody(prepareChat, body, { find: () => model }).conversation).toEqual(NO_CONVERSATION)
  }
})

it('rejects with the operation’s own errors, unchanged', async () => {
  const { prepare } = shared
  for (const [body, expected] of [
    [chat('x', { temperature: 3 }), { param: 'temperature', message: /from 0 to 2/ }],
    [chat('x', { model: 'nope' }), { code: 'model_not_found', message: /Unknown model/ }],
    [
      chat('x'.repeat(256 * 4_096)),
      { code: 'context_length_exceeded', message: /maximum context length is 4096 tokens/ },
    ],
    [[1], { code: 'invalid_request', message: /JSON object/ }],
  ] as const) {
    const error = await prepare(body).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ ...expected, message: expect.stringMatching(expected.message) })
  }
})

it('leaves the event loop free while it works', async () => {
  const { prepare } = shared
  await prepare(chat('the thread has started'))
  const [preparing, turns] = [prepare(heavy()).then(() => 'prepared'), twentyTurns()]
  // If the event loop did the work, only one or two turns would pass in this time.
  expect(await Promise.race([preparing, turns])).toBe('turned')
  expect(await preparing).toBe('prepared')
})

async function twentyTurns(): Promise<string> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn()
  return 'turned'
}

it('refuses a body when too many are waiting', async () => {
  const { prepare } = createThread({ waiting: 1 })
  const first = prepare(chat('a'))
  const second = prepare(chat('b'))
  await expect(prepare(chat('c'))).rejects.toMatchObject({ code: 'model_unavailable' })
  await Promise.all([first, second])
})

it('refuses a body that takes too long, and prepares the next one on a new thread', async () => {
  const { prepare } = createThread({ taskMs: 100 })
  const hard = largest()
  for (let round = 0; round < 2; round += 1) {
    await expect(prepare(hard)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/more time or memory/),
    })
    expect((await prepare(chat('c'))).model).toEqual(model)
  }
})

it('prepares one body of each account in turn, whoever sent the most', async () => {
  const { prepare } = shared
  const order: string[] = []
  const noted = async (account: string) => {
    await prepare(chat('small'), account)
    order.push(account)
  }
  await Promise.all([noted('a'), noted('a'), noted('a'), noted('a'), noted('b'), noted('b'), noted('c')])
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a'])
})

it('leaves one of its threads to other accounts', async () => {
  const { prepare } = createThread({ threads: 2 })
  await Promise.all([prepare(chat('start'), 'a'), prepare(chat('start'), 'b')])
  const order: string[] = []
  await Promise.all([
    prepare(heavy(), 'a').then(() => order.push('a')),
    prepare(heavy(), 'a').then(() => order.push('a')),
    prepare(chat('small'), 'b').then(() => order.push('b')),
  ])
  expect(order).toEqual(['b', 'a', 'a'])
})

it('refuses bodies of an account of which too many wait, and takes those of others', async () => {
  const { prepare } = createThread({ waitingOfAccount: 1 })
  const taken = [prepare(chat('a')), prepare(chat('a')), prepare(chat('b'), 'b')]
  await expect(prepare(chat('a'))).rejects.toMatchObject({ code: 'model_unavailable' })
  await Promise.all(taken)
})

it('leaves out a body whose client has gone', async () => {
  const { prepare } = shared
  const [first, gone] = [prepare(chat('a')), prepare(chat('b'), 'a', { begin: () => false })]
  await expect(gone).rejects.toMatchObject({ code: 'model_unavailable' })
  await first
})

it('survives the death of its thread', { timeout: 120_000 }, async () => {
  const { prepare } = createThread({ heapMib: 24 })
  await expect(prepare(heavy())).rejects.toMatchObject({ code: 'invalid_request' })
  expect((await prepare(chat('next'))).model).toEqual(model)
})

it(
  'has enough memory for the largest body with the largest number of values',
  { timeout: 120_000 },
  async () => {
    const { prepare } = shared
    expect((await prepare(largest())).model).toEqual(model)
  },
)

it('rejects waiting bodies when it is closed', async () => {
  const { prepare, close } = createThread()
  const results = Promise.allSettled([prepare(heavy()), prepare(chat('b'))])
  await close()
  for (const result of await results) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'model_unavailable' } })
  }
  await expect(prepare(chat('c'))).rejects.toMatchObject({ code: 'model_unavailable' })
})

it('drops a waiting body whose memory is needed, and its place is free at once', async () => {
  const { prepare } = createThread({ waiting: 1 })
  const leaving = new AbortController()
  let begun = 0
  const begin = () => {
    begun += 1
    return true
  }
  const running = prepare(chat('a'))
  const dropped = prepare(chat('b'), 'b', { begin, signal: leaving.signal })
  leaving.abort(new Error('test: no memory'))
  await expect(dropped).rejects.toThrow('no memory')
  const next = prepare(chat('c'), 'c')
  expect((await next).model).toEqual(model)
  await running
  expect(begun).toBe(0)
})
