import { randomInt } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEngineOverTransport } from '#apps/worker/engine/engine-over-transport.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import { untilIdle } from './engine-state.ts'
import { startEngineUnderTest } from './engine-under-test.ts'
import { engineAddress, LIVE_TARGETS, type Target } from './targets.ts'
import { TRANSPORTS } from '#test/support/engine-transports.ts'

/** Enough for two full blocks of the recorded engine and a part of a third block. */
const PROMPT_TOKENS = 300
const CACHED_TOKENS = 256

async function connect({ kind, servicerVersion, transport }: Target) {
  if (kind === 'engine') return TRANSPORTS[transport]({ address: engineAddress() })
  const under = await startEngineUnderTest({ servicerVersion }, { transport })
  onTestFinished(() => under.close())
  return under.client
}

/** Draws a prompt that no engine has seen, and returns a function that sends this prompt with a salt. */
async function openAsk(target: Target, constraint: EngineConstraint | null = null) {
  const client = await connect(target)
  const engine = createEngineOverTransport(client)
  const promptIds = Uint32Array.from({ length: PROMPT_TOKENS }, () => randomInt(1, 2_000))
  let calls = 0
  return async (cacheSalt: string | null) => {
    const written: number[] = []
    const request = {
      requestId: `salted-${promptIds.slice(0, 4).join('-')}-${(calls += 1)}`,
      promptIds,
      sampling: { temperature: 0 },
      maxTokens: 8,
      endIds: [],
      stop: [],
      constraint,
      cacheSalt,
    }
    const end = await engine.generate(request, {
      signal: new AbortController().signal,
      onTokens({ ids }) {
        written.push(...ids)
        return true
      },
    })
    await untilIdle(client)
    return { written, cachedTokens: end?.cachedTokens }
  }
}

const isSalted = ({ servicerVersion }: Target) => servicerVersion === '0.32.0+0.14.1'

describe.each(LIVE_TARGETS.filter(isSalted))('$name', (target) => {
  test('finds in its prefix cache only what was sent with the same salt', async () => {
    const ask = await openAsk(target)
    const cached = async (salt: string | null) => (await ask(salt)).cachedTokens
    expect(await cached('account-a')).toBe(0)
    expect(await cached('account-a')).toBe(CACHED_TOKENS)
    expect(await cached('account-b')).toBe(0)
    expect(await cached(null)).toBe(0)
    expect(await cached('account-b')).toBe(CACHED_TOKENS)
    expect(await cached('account-a')).toBe(CACHED_TOKENS)
    expect(await cached(null)).toBe(CACHED_TOKENS)
  })

  test.each([null, { type: 'answer', schema: { type: 'integer' } } as const])(
    'gives the same tokens with any salt, under the constraint %j',
    async (constraint) => {
      const ask = await openAsk(target, constraint)
      const { written } = await ask(null)
      expect(written.length).toBeGreaterThan(0)
      expect((await ask('account-a')).written).toEqual(written)
      expect((await ask('account-a')).written).toEqual(written)
    },
  )
})

describe.each(LIVE_TARGETS.filter((target) => !isSalted(target)))('$name', (target) => {
  test('has one prefix cache for all salts: its servicer does not read them', async () => {
    const ask = await openAsk(target)
    expect((await ask('account-a')).cachedTokens).toBe(0)
    expect((await ask('account-b')).cachedTokens).toBe(CACHED_TOKENS)
    expect((await ask(null)).cachedTokens).toBe(CACHED_TOKENS)
  })
})
