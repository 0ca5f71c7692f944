import { expect, test } from 'vitest'
import { createClusterPicture } from '#apps/gateway/cluster-picture/cluster-picture.ts'
import { createAdmit } from '#apps/gateway/generation/admit.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { generationCall } from '../../../../support/generation-call.ts'

function setUp(options: {
  engines?: { slots: number; running: number; meanMs: number | null }[]
  random?: number
  full?: boolean
  barred?: boolean
}) {
  const clock = { nowMs: 0 }
  const picture = createClusterPicture(() => 0)
  for (const [at, { slots, running, meanMs }] of (options.engines ?? []).entries()) {
    picture.applyHeartbeat({
      id: `worker-${at}`,
      form: 2,
      kind: 'worker',
      name: `worker-${at}`,
      engines: [
        { model: 'demo-chat', ready: true, slots, running, meanGenerationMs: meanMs, contextWindow: 4_096 },
      ],
    })
  }
  const admit = createAdmit({
    picture,
    isBarred: () => options.barred ?? false,
    settlementsFull: () => options.full ?? false,
    drainBoundMs: 30_000,
    assumedGenerationMs: 10_000,
    random: () => options.random ?? 0,
    nowMs: () => clock.nowMs,
  })
  return { admit, clock }
}

const queue = (ahead: number) => ({ status: 'busy', reason: 'queue', ahead }) as const
const BUSY_ENGINES = [{ slots: 4, running: 4, meanMs: 1_000 }]

test('as many may be ahead as slots are free now and generations end within the drain bound', () => {
  const { admit } = setUp({
    engines: [
      { slots: 4, running: 3, meanMs: 1_000 },
      { slots: 4, running: 4, meanMs: 3_000 },
    ],
  })
  // 8 slots at 2 s each drain 4 a second: 120 in 30 s, and one slot is free.
  expect(admit(generationCall()).mostAhead).toBe(121)
})

test('without a measurement the assumed length counts', () => {
  const { admit } = setUp({ engines: [{ slots: 2, running: 2, meanMs: null }] })
  expect(admit(generationCall()).mostAhead).toBe(6)
})

test('what the record refuses is model_busy, with the time until there is room', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES })
  expect(admit(generationCall()).refuse(queue(140))).toMatchObject({ code: 'model_busy', retryAfterS: 5 })
})

test('too many bytes are model_busy for two seconds', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES })
  const refusal = admit(generationCall()).refuse({ status: 'busy', reason: 'bytes', ahead: 0 })
  expect(refusal).toMatchObject({ code: 'model_busy', retryAfterS: 2 })
})

test('clients that are refused together get different waits', () => {
  const { admit } = setUp({ engines: BUSY_ENGINES, random: 0.5 })
  expect(admit(generationCall()).refuse(queue(140))).toMatchObject({ retryAfterS: 6.25 })
})

test('for up to a second after a refusal the account is refused at once, another account is not', () => {
  const { admit, clock } = setUp({ engines: BUSY_ENGINES })
  admit(generationCall()).refuse(queue(140))
  expect(() => admit(generationCall())).toThrow('is busy')
  const caller = { keyId: 'key-2', accountId: 'account-2', models: null }
  expect(admit(generationCall({ caller })).mostAhead).toBe(120)
  clock.nowMs = 1_000
  expect(admit(generationCall()).mostAhead).toBe(120)
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
  const { admit } = setUp({ engines: BUSY_ENGINES })
  const { model } = generationCall()
  const refusal = (fields: Partial<ModelSpec>): unknown => {
    try {
      return admit(generationCall({ model: { ...model, ...fields } }))
    } catch (error) {
      return error
    }
  }
  expect(refusal({ fixedState: 'busy' })).toMatchObject({ code: 'model_busy', retryAfterS: 2 })
  expect(refusal({ fixedState: 'warming' })).toMatchObject({ code: 'model_warming', retryAfterS: 10 })
  expect(refusal({ fixedState: 'busy', enabled: false })).toMatchObject({ code: 'model_unavailable' })
})
