import { expect, test } from 'vitest'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { generationCall } from '../../../../../support/generation-call.ts'
import { generationJob } from '../../../../../support/generation-job.ts'
import { BUSY_ENGINES, COST, queue, setUp } from './admit-under-test.ts'

test('as many tokens may be ahead as the free slots and the engines within the drain bound can take', () => {
  const { admit } = setUp({
    engines: [
      { slots: 4, running: 3, meanMs: 1_000, tokensPerS: 40 },
      { slots: 4, running: 4, meanMs: 3_000, tokensPerS: 60 },
    ],
  })
  // 8 slots take 400 tokens per second, so 12,000 in 30 s. One more slot is free, which takes 100 tokens in 2 s.
  const caller = { ...generationCall().caller, weight: 3 }
  const place = { accountId: caller.accountId, weight: 3, cost: COST, fixedCost: 0, mostAhead: 12_100 }
  expect(admit(generationCall({ caller })).place).toEqual(place)
})

test('without a measurement the assumed time counts, and generations like this one', () => {
  const { admit } = setUp({ engines: [{ slots: 2, running: 2, meanMs: null }], cost: 500 })
  expect(admit(generationCall()).place.mostAhead).toBe(6 * 500)
})

test('what the record refuses is model_busy, with the time until there is room', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES })
  // 2,000 of 14,000 tokens are too many: 5 s. A generation is claimed each 0.25 s. The margin is eight claims.
  expect(admit(generationCall()).refuse(queue(140))).toMatchObject({ code: 'model_busy', retryAfterS: 7.125 })
})

test('too many bytes are model_busy for two seconds', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES })
  const refusal = admit(generationCall()).refuse({ status: 'busy', reason: 'bytes', ahead: 0 })
  expect(refusal).toMatchObject({ code: 'model_busy', retryAfterS: 2 })
})

test('clients that are refused together get different waits, up to a tenth longer; short waits are not longer', () => {
  const retryAfterS = (generations: number, random: number) => {
    const { admit } = setUp({ engines: BUSY_ENGINES, random })
    return admit(generationCall()).refuse(queue(generations)).retryAfterS
  }
  expect([0, 0.5, 1].map((random) => retryAfterS(200, random))).toEqual([22.125, 23.231_25, 24.3375])
  // At most a fifth longer after it is rounded up.
  expect(retryAfterS(140, 1)).toBeCloseTo(7.55)
  expect(retryAfterS(130, 1)).toBe(4.625)
})

test('until the wait of a refusal is over the account is refused at once, another account is not', () => {
  const { admit, clock } = setUp({ engines: BUSY_ENGINES })
  admit(generationCall()).refuse(queue(140))
  expect(() => admit(generationCall())).toThrow('is busy')
  const caller = { ...generationCall().caller, keyId: 'key-2', accountId: 'account-2' }
  expect(admit(generationCall({ caller })).place.mostAhead).toBe(12_000)
  clock.nowMs = 900
  expect(() => admit(generationCall())).toThrow(expect.objectContaining({ retryAfterS: 6.225 }))
  clock.nowMs = 7_125
  expect(admit(generationCall()).place.mostAhead).toBe(12_000)
})

test('the wait of a refusal ends early if the model has many more slots than at the refusal', () => {
  const engine = { slots: 20, running: 20, meanMs: 1_000 }
  const { admit, beat } = setUp({ engines: [engine] })
  admit(generationCall()).refuse(queue(1_000))
  beat({ ...engine, slots: 5, running: 5 }, 1)
  expect(() => admit(generationCall())).toThrow('is busy')
  beat({ ...engine, slots: 6, running: 6 }, 1)
  expect(admit(generationCall()).place.mostAhead).toBe(78_000)
})

test.each([
  { slots: 1, running: 0 },
  { slots: 8, running: 6 },
])('the wait of a refusal ends early if $running of $slots slots are in use', (idle) => {
  const engine = { slots: idle.slots, running: idle.slots, meanMs: 1_000 }
  const { admit, beat } = setUp({ engines: [engine] })
  admit(generationCall()).refuse(queue(1_000))
  beat({ ...engine, running: idle.running + 1 })
  expect(() => admit(generationCall())).toThrow('is busy')
  beat({ ...engine, ...idle })
  expect(() => admit(generationCall())).not.toThrow()
})

test('the wait of a refusal ends early if more than a tenth of the slots is free', () => {
  const engine = { slots: 20, running: 20, meanMs: 1_000 }
  const { admit, beat } = setUp({ engines: [engine] })
  admit(generationCall()).refuse(queue(1_000))
  beat({ ...engine, running: 18 })
  expect(() => admit(generationCall())).toThrow('is busy')
  beat({ ...engine, running: 17 })
  expect(admit(generationCall()).place.mostAhead).toBe(60_300)
  beat(engine)
  expect(admit(generationCall()).place.mostAhead).toBe(60_000)
})

test.each([
  ['as it was', 1.25, 12_000],
  ['up to 1.25 times the present bound', 2, 7_500],
])('after the wait the bound of the refusal holds for the next request, %s', (_, slower, kept) => {
  const [engine] = BUSY_ENGINES
  if (engine === undefined) throw new Error('there is no engine')
  const { admit, clock, beat } = setUp({ engines: BUSY_ENGINES })
  admit(generationCall()).refuse(queue(140))
  beat({ ...engine, tokensPerS: COST / slower })
  clock.nowMs = 7_125
  const { place, queued } = admit(generationCall())
  expect(place.mostAhead).toBe(kept)
  queued()
  expect(admit(generationCall()).place.mostAhead).toBe(12_000 / slower)
})

test('a model without a ready worker, and a disabled one, are model_unavailable', () => {
  const { model } = generationCall()
  expect(() => setUp({}).admit(generationCall())).toThrow('not available')
  const { admit } = setUp({ engines: BUSY_ENGINES })
  expect(() => admit(generationCall({ model: { ...model, enabled: false } }))).toThrow('not available')
})

test('a gateway that holds all the settlements it may takes no new work', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES, full: true })
  expect(() => admit(generationCall())).toThrow('cannot take new work')
})

test('a key that kills engines is refused', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES, barred: true })
  expect(() => admit(generationCall())).toThrow('is busy')
})

test('a state that the catalog fixes refuses even a served model', () => {
  const { refusal, demanded } = setUp({ engines: BUSY_ENGINES })
  expect(refusal({ fixedState: 'busy' })).toMatchObject({ code: 'model_busy', retryAfterS: 2 })
  expect(refusal({ fixedState: 'warming' })).toMatchObject({ code: 'model_warming', retryAfterS: 10 })
  expect(refusal({ fixedState: 'busy', enabled: false })).toMatchObject({ code: 'model_unavailable' })
  expect(demanded()).toBeUndefined()
})

test('a caller who can pay for nothing is refused before all else, and is no demand', () => {
  const shortage = { of: 'account', availableNano: toNanoCredits(3n), heldNano: toNanoCredits(0n) } as const
  const caller = { ...generationCall().caller, shortage }
  const served = setUp({ engines: BUSY_ENGINES })
  served.admit(generationCall()).refuse(queue(140))
  const unserved = setUp({ state: { state: 'stopped', etaMs: null } })
  for (const { admit } of [served, unserved, setUp({ barred: true, engines: BUSY_ENGINES })]) {
    expect(() => admit(generationCall({ caller }))).toThrow(
      expect.objectContaining({
        code: 'insufficient_credits',
        message: 'Not enough credits for this request: 0.000000003 available, 0 held by running requests.',
      }),
    )
  }
  expect(unserved.demanded()).toBeUndefined()
  expect(served.demanded()).toMatchObject({ fresh: 1, refused: 1 })
})

test('the fifth new large grammar of an account waits until one of the others is compiled', () => {
  const { admit, demanded } = setUp({ engines: [{ slots: 64, running: 0, meanMs: 1_000 }] })
  const { request } = generationJob()
  const ask = (text: string) => {
    const schema = { type: 'object', description: text.repeat(10_000) }
    return admit(generationCall({ request: { ...request, outputFormat: { type: 'json-schema', schema } } }))
  }
  const [first, second] = ['a', 'b', 'c', 'd'].map(ask)
  expect(() => ask('e')).toThrow(
    expect.objectContaining({
      code: 'model_busy',
      retryAfterS: 2,
      message: expect.stringContaining('new schemas of this account'),
    }),
  )
  expect(ask('a').place.mostAhead).toBeGreaterThan(0)
  first?.compiled()
  expect(ask('e').place.mostAhead).toBeGreaterThan(0)
  expect(() => ask('f')).toThrow('new schemas of this account')
  second?.leave()
  expect(ask('f').place.mostAhead).toBeGreaterThan(0)
  expect(demanded()).toBeUndefined()
})

test('a free model needs no credits, and while they cannot be checked the refusal is 503', () => {
  const shortage = { of: 'account', availableNano: toNanoCredits(0n), heldNano: toNanoCredits(0n) } as const
  const { caller, model } = generationCall()
  const free = { ...model, inputPriceNano: '0', cachedInputPriceNano: '0', outputPriceNano: '0' }
  const { admit } = setUp({ engines: BUSY_ENGINES })
  expect(admit(generationCall({ model: free, caller: { ...caller, shortage } })).place.mostAhead).toBe(12_000)
  expect(() => admit(generationCall({ caller: { ...caller, shortage: 'unconfirmed' } }))).toThrow(
    expect.objectContaining({ code: 'model_unavailable', retryAfterS: 2 }),
  )
})

test('a model that is being started is model_warming, until its predicted start and up to a fifth more', () => {
  const state = { state: 'warming', etaMs: 20_000 } as const
  const first = setUp({ state, random: 0 }).refusal()
  expect(first).toMatchObject({ code: 'model_warming', retryAfterS: 20 })
  const last = setUp({ state, random: 1 }).refusal()
  expect(last).toMatchObject({ code: 'model_warming', retryAfterS: 24 })
})

test('the message names a time that is longer than retry-after can be', () => {
  const { refusal } = setUp({ state: { state: 'warming', etaMs: 139_200 } })
  expect(refusal()).toMatchObject({
    message:
      "The model 'demo-chat' is starting. A worker is expected in about 140 s. Please try again later.",
  })
})

test('a model at zero is model_warming too, for a default time where no start is predicted yet', () => {
  const { refusal } = setUp({ state: { state: 'stopped', etaMs: null } })
  expect(refusal()).toMatchObject({
    code: 'model_warming',
    retryAfterS: 10,
    message: "The model 'demo-chat' is starting. Please try again later.",
  })
})

test('a model that gets no GPU, may have no worker, or has one without heartbeats is model_unavailable', () => {
  for (const state of ['starved', 'off', 'serving'] as const) {
    const { refusal } = setUp({ state: { state, etaMs: 3_000 } })
    expect(refusal()).toMatchObject({ code: 'model_unavailable' })
  }
})

test('5 s after the last message of a scaler a model without a worker is model_unavailable', () => {
  const { refusal, clock } = setUp({ state: { state: 'warming', etaMs: 20_000 } })
  clock.nowMs = 4_999
  expect(refusal()).toMatchObject({ code: 'model_warming' })
  clock.nowMs = 5_000
  expect(refusal()).toMatchObject({ code: 'model_unavailable' })
})

test('a ready worker serves the model, whatever a scaler publishes', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES, state: { state: 'warming', etaMs: 20_000 } })
  expect(admit(generationCall()).place.mostAhead).toBe(12_000)
})

test('refusals that more workers would prevent count as demand, others do not', () => {
  const unserved = setUp({})
  unserved.refusal()
  expect(unserved.demanded()).toMatchObject({ fresh: 1, unserved: 1, refused: 1, unservedAgoMs: 0 })

  const busy = setUp({ engines: BUSY_ENGINES })
  busy.admit(generationCall()).refuse(queue(140))
  expect(() => busy.admit(generationCall({ isRepeated: true }))).toThrow('is busy')
  expect(busy.demanded()).toMatchObject({ fresh: 1, repeated: 1, refused: 2, unserved: 0 })

  for (const { refusal, demanded } of [
    setUp({ engines: BUSY_ENGINES, barred: true }),
    setUp({ engines: BUSY_ENGINES, full: true }),
  ]) {
    refusal()
    expect(demanded()).toBeUndefined()
  }
  const disabled = setUp({})
  disabled.refusal({ enabled: false })
  expect(disabled.demanded()).toBeUndefined()
})

test('an account with plainly too many waiting in this gateway is refused before any reservation; others are not', () => {
  const { admit, refusal, demanded, clock } = setUp({ engines: [{ slots: 2, running: 2, meanMs: 10_000 }] })
  // 6 generations may be ahead, and 2 of the account's own may have been claimed without the gateway's knowledge.
  const admitted = Array.from({ length: 9 }, () => admit(generationCall()))
  expect(refusal()).toMatchObject({ code: 'model_busy', retryAfterS: 22.5 })
  expect(demanded()).toMatchObject({ refused: 1 })
  const other = { ...generationCall().caller, accountId: 'another-account' }
  expect(() => admit(generationCall({ caller: other }))).not.toThrow()

  admitted[0]?.leave()
  admitted[0]?.leave()
  clock.nowMs = 22_500
  admit(generationCall())
  expect(refusal()).toMatchObject({ code: 'model_busy' })
})

test('a few huge requests are as many as many small ones', () => {
  const { admit, refusal } = setUp({ engines: [{ slots: 2, running: 2, meanMs: 10_000 }], cost: 900 })
  admit(generationCall())
  expect(refusal()).toMatchObject({ code: 'model_busy', retryAfterS: 22.5 })
})
