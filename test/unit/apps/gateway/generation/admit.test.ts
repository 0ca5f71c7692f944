import { expect, test } from 'vitest'
import { createClusterPicture } from '#apps/gateway/cluster-picture/cluster-picture.ts'
import { createAdmit } from '#apps/gateway/generation/admit.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { generationCall } from '../../../../support/generation-call.ts'

type Admission = { admitted: boolean; tag: number; ahead: number }

function setUp(options: {
  engines?: { slots: number; running: number; meanMs: number | null }[]
  answer?: Admission
  random?: number
}) {
  const asked: number[] = []
  const picture = createClusterPicture(() => 0)
  for (const [at, { slots, running, meanMs }] of (options.engines ?? []).entries()) {
    picture.applyHeartbeat({
      id: `worker-${at}`,
      kind: 'worker',
      engines: [{ model: 'demo-chat', ready: true, slots, running, meanGenerationMs: meanMs }],
    })
  }
  const admit = createAdmit({
    picture,
    record: {
      async admit(_model, { mostAhead }) {
        asked.push(mostAhead)
        if (options.answer === undefined) throw new Error('Connection is closed.')
        return options.answer
      },
    },
    drainBoundMs: 30_000,
    assumedGenerationMs: 10_000,
    random: () => options.random ?? 0,
  })
  return { admit, asked }
}

test('an admitted generation gets its fair tag', async () => {
  const { admit } = setUp({
    engines: [{ slots: 4, running: 0, meanMs: 1_000 }],
    answer: { admitted: true, tag: 7, ahead: 0 },
  })
  expect(await admit(generationCall())).toBe(7)
})

test('as many may be ahead as slots are free now and generations end within the drain bound', async () => {
  const { admit, asked } = setUp({
    engines: [
      { slots: 4, running: 3, meanMs: 1_000 },
      { slots: 4, running: 4, meanMs: 3_000 },
    ],
    answer: { admitted: true, tag: 2, ahead: 0 },
  })
  await admit(generationCall())
  // 8 slots at 2 s each drain 4 a second: 120 in 30 s, and one slot is free.
  expect(asked).toEqual([121])
})

test('without a measurement the assumed length counts', async () => {
  const { admit, asked } = setUp({
    engines: [{ slots: 2, running: 2, meanMs: null }],
    answer: { admitted: true, tag: 2, ahead: 0 },
  })
  await admit(generationCall())
  expect(asked).toEqual([6])
})

test('too much ahead is model_busy, with the time until there is room', async () => {
  const { admit } = setUp({
    engines: [{ slots: 4, running: 4, meanMs: 1_000 }],
    answer: { admitted: false, tag: 9, ahead: 140 },
  })
  await expect(admit(generationCall())).rejects.toMatchObject({ code: 'model_busy', retryAfterS: 5 })
})

test('clients that are refused together get different waits', async () => {
  const refused = { admitted: false, tag: 9, ahead: 140 }
  const engines = [{ slots: 4, running: 4, meanMs: 1_000 }]
  const { admit } = setUp({ engines, answer: refused, random: 0.5 })
  await expect(admit(generationCall())).rejects.toMatchObject({ retryAfterS: 6.25 })
})

test('a model without a ready worker is model_unavailable, and the queue is not asked', async () => {
  const { admit, asked } = setUp({})
  await expect(admit(generationCall())).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(asked).toEqual([])
})

test('a disabled model is model_unavailable', async () => {
  const { admit } = setUp({ engines: [{ slots: 4, running: 0, meanMs: null }] })
  const { model } = generationCall()
  await expect(admit(generationCall({ model: { ...model, enabled: false } }))).rejects.toMatchObject({
    code: 'model_unavailable',
  })
})

test('a state that the catalog fixes refuses even a served model, and the queue is not asked', async () => {
  const serving = {
    engines: [{ slots: 4, running: 0, meanMs: null }],
    answer: { admitted: true, tag: 7, ahead: 0 },
  }
  const { admit, asked } = setUp(serving)
  const { model } = generationCall()
  const refusal = async (fields: Partial<ModelSpec>) =>
    await admit(generationCall({ model: { ...model, ...fields } })).catch((error: unknown) => error)
  expect(await refusal({ fixedState: 'busy' })).toMatchObject({ code: 'model_busy', retryAfterS: 2 })
  expect(await refusal({ fixedState: 'warming' })).toMatchObject({ code: 'model_warming', retryAfterS: 10 })
  expect(await refusal({ fixedState: 'busy', enabled: false })).toMatchObject({ code: 'model_unavailable' })
  expect(asked).toEqual([])
})

test('a queue that does not answer is model_unavailable', async () => {
  const { admit } = setUp({ engines: [{ slots: 4, running: 0, meanMs: null }] })
  await expect(admit(generationCall())).rejects.toMatchObject({ code: 'model_unavailable' })
})
