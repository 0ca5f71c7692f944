import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Behaviour } from '#apps/simulator/behaviour.ts'
import { EngineConfig } from '#apps/simulator/config.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { callGenerate, collect, reply, service } from './raw-calls.ts'

async function startBehaving(behaviour: Behaviour): Promise<EngineUnderTest> {
  const under = await startEngineUnderTest({ behaviour, maxModelLen: 8_192 })
  onTestFinished(() => under.close())
  return under
}

async function ask({ client, model }: EngineUnderTest, sampling: object = {}) {
  const prompt = '<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n'
  const ids = await model.tokenizer.encode(prompt)
  const request = {
    request_id: 'one',
    stream: true,
    tokenized: { input_ids: Array.from(ids) },
    sampling_params: { max_tokens: 6_000, temperature: 0, ...sampling },
  }
  const { messages, ending } = await collect(callGenerate(client, request))
  const given = messages.flatMap((message) => message.chunk?.tokenIds ?? [])
  const finish = messages.at(-1)?.complete?.finishReason
  return { given, text: model.tokenizer.decode(given), finish, ending }
}

/** Sampling parameters with which callers may try to change the answer. */
const TRICKS = [
  {},
  { logit_bias: { 40: 100 } },
  { temperature: 1, seed: 7 },
  { max_tokens: 1 },
  { constraint: 'regex', regex: '[a-z]+' },
]

test.each(TRICKS)(
  'an engine that fails before text gives half a character, then INTERNAL: %j',
  async (trick) => {
    const under = await startBehaving({ type: 'fails-before-text' })
    const { given, text, finish, ending } = await ask(under, trick)
    expect(given.length).toBeGreaterThan(0)
    expect(text.replace('<|im_end|>', '')).toBe('\ufffd')
    expect(finish).toBeUndefined()
    expect(ending).toEqual({ code: 'INTERNAL', details: '' })
  },
)

test.each(TRICKS)('an engine that fails in text gives words, then INTERNAL: %j', async (trick) => {
  const under = await startBehaving({ type: 'fails-in-text' })
  const { text, finish, ending } = await ask(under, trick)
  expect(text).toMatch(/^The/)
  expect(finish).toBeUndefined()
  expect(ending).toEqual({ code: 'INTERNAL', details: '' })
})

test('an engine whose calls fail is healthy all the same, and holds nothing of them', async () => {
  const under = await startBehaving({ type: 'fails-in-text' })
  for (let call = 0; call < 5; call += 1) await ask(under)
  const { response } = await reply(under.client, service.HealthCheck, {})
  expect(response?.healthy).toBe(true)
  expect(under.engine.core().load()).toMatchObject({ running: 0, waiting: 0, usedTokens: 0 })
})

test('an engine that writes gives exactly so many tokens, the end token counted', async () => {
  const under = await startBehaving({ type: 'writes', tokens: 4_000 })
  const { given, finish, ending } = await ask(under)
  expect([given.length, finish, ending.code]).toEqual([4_000, 'stop', 'OK'])
  const cut = await ask(under, { max_tokens: 16 })
  expect([cut.given.length, cut.finish]).toEqual([16, 'length'])
})

test('an engine that waits gives its first token later, and others are not held up', async () => {
  const under = await startBehaving({ type: 'waits', firstTokenMs: 300 })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const answered: string[] = []
  const answering = Promise.all(
    Array.from({ length: 6 }, async () => {
      const answer = await ask(under)
      answered.push(answer.text)
      return answer
    }),
  )
  // The test waits until all six calls wait. `expect.poll` would move the fake clock.
  while (vi.getTimerCount() < 6) await nextTurn()
  vi.advanceTimersByTime(299)
  await nextTurn()
  expect(under.engine.core().totals().tokens).toBe(0)
  vi.advanceTimersByTime(1)
  while (answered.length < 6) {
    await nextTurn()
    vi.advanceTimersByTime(1)
  }
  for (const { text, finish } of await answering) {
    expect([text, finish]).toEqual(['You said: Hello<|im_end|>', 'stop'])
  }
})

test('a call that leaves an engine that waits is forgotten there', async () => {
  const under = await startBehaving({ type: 'waits', firstTokenMs: 200 })
  const gone = callGenerate(under.client, {
    request_id: 'gone',
    stream: true,
    tokenized: { input_ids: [1, 2, 3] },
    sampling_params: { max_tokens: 5 },
  })
  const reading = collect(gone)
  gone.cancel()
  expect((await reading).ending.code).toBe('CANCELLED')
  const { given } = await ask(under)
  expect(under.engine.core().totals().tokens).toBe(given.length)
})

test('only an engine that chats has a behaviour', () => {
  const engine = { listen: '127.0.0.1:0', model: 'm', files: 'demo', behaviour: { type: 'fails-in-text' } }
  expect(EngineConfig.safeParse(engine).success).toBe(true)
  expect(EngineConfig.safeParse({ ...engine, kind: 'embedding' }).error?.issues[0]?.path).toEqual([
    'behaviour',
  ])
})
