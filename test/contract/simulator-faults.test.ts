import { expect, onTestFinished, test } from 'vitest'
import { promptOf, user } from '../unit/apps/simulator/persona/persona-under-test.ts'
import { startEngineUnderTest, type EngineUnderTest } from './engine-under-test.ts'
import { callGenerate, collect, reply, service } from './raw-calls.ts'

async function startFaulty(faults: object): Promise<EngineUnderTest> {
  const under = await startEngineUnderTest({ faults })
  onTestFinished(() => under.close())
  return under
}

async function ask({ client }: EngineUnderTest, text: string) {
  const inputIds = [...(await promptOf({ messages: [user(text)] }))]
  const samplingParams = { temperature: 0, maxTokens: 1_500 }
  return callGenerate(client, { tokenized: { inputIds }, samplingParams, stream: true })
}

async function isHealthy({ connect }: EngineUnderTest): Promise<boolean> {
  const { response } = await reply(connect(), service.HealthCheck, {})
  return response?.healthy === true
}

const tokensOf = ({ messages }: Awaited<ReturnType<typeof collect>>) => messages.length

test('a poison prompt kills the core, with the streams beside it', async () => {
  const under = await startFaulty({ poison: 'hemlock' })
  const beside = await ask(under, '[[tokens=1000]]')
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const besideEnded = collect(beside, () => begin())
  await begun
  const poisoned = await collect(await ask(under, 'a cup of hemlock, please'))
  expect(poisoned.ending.code).toBe('INTERNAL')
  expect(tokensOf(poisoned)).toBe(0)
  expect((await besideEnded).ending.code).toBe('INTERNAL')
  expect(await isHealthy(under)).toBe(false)
})

test('an output that becomes poison kills the core, at once and when it is continued', async () => {
  const under = await startFaulty({ poison: 'You said: hemlock', restartAfterMs: 0 })
  const poisoned = await collect(await ask(under, 'hemlock and more'))
  expect(poisoned.ending.code).toBe('INTERNAL')
  expect(tokensOf(poisoned)).toBeGreaterThan(0)
  await expect.poll(() => isHealthy(under)).toBe(true)
  const { ending } = await collect(await ask(under, 'water'))
  expect(ending.code).toBe('OK')
})

test('poison may need a number of tokens, and may be set amid an output', async () => {
  const under = await startFaulty({ poison: 'hemlock', poisonAfterTokens: 7 })
  const poisoned = await collect(await ask(under, 'hemlock [[tokens=100]]'))
  expect(poisoned.ending.code).toBe('INTERNAL')
  expect(tokensOf(poisoned)).toBe(7)
  await under.engine.changeFaults({ dead: true, poison: null })
  await under.engine.changeFaults({ dead: false })
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const ended = collect(await ask(under, 'hemlock [[tokens=1000]]'), () => begin())
  await begun
  await under.engine.changeFaults({ poison: 'hemlock', poisonAfterTokens: 0 })
  expect((await ended).ending.code).toBe('INTERNAL')
})

test('a core that died starts again at its address, by itself', async () => {
  const under = await startFaulty({ poison: 'hemlock', restartAfterMs: 50 })
  const address = under.engine.address()
  for (let death = 0; death < 2; death++) {
    const poisoned = await collect(await ask(under, 'hemlock'))
    expect(poisoned.ending.code).toBe('INTERNAL')
    await expect.poll(() => isHealthy(under)).toBe(true)
    expect(under.engine.address()).toBe(address)
  }
  const { ending, messages } = await collect(await ask(under, 'water'))
  expect(ending.code).toBe('OK')
  expect(messages.length).toBeGreaterThan(3)
})

test('a core that is to be dead stays so until that is cleared', async () => {
  const under = await startFaulty({ restartAfterMs: 0 })
  await under.engine.changeFaults({ dead: true })
  await under.engine.changeFaults({ slowness: 2 })
  expect(await isHealthy(under)).toBe(false)
  await under.engine.changeFaults({ dead: false })
  expect(await isHealthy(under)).toBe(true)
})

test('a longer prompt takes longer until its first token', async () => {
  const under = await startEngineUnderTest({ prefillTokensPerS: 2_000, stepMs: 0 })
  onTestFinished(() => under.close())
  async function firstTokenMs(text: string): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    const started = performance.now()
    const call = await ask(under, text)
    void collect(call, () => resolve(performance.now() - started))
    return await promise
  }
  // 1,000 tokens at 2,000 tokens per second.
  const long = await firstTokenMs(`[[tokens=2]]${' the'.repeat(1_000)}`)
  expect(long).toBeGreaterThan(500)
  // The fastest of three counts, because the machine may be busy.
  const short = [
    await firstTokenMs('[[tokens=2]]'),
    await firstTokenMs('[[tokens=2]]'),
    await firstTokenMs('[[tokens=2]]'),
  ]
  expect(Math.min(...short)).toBeLessThan(long)
})
