import { expect, test } from 'vitest'
import { generationCall } from '../../../../../support/generation-call.ts'
import { toBeat } from '../../../../../support/heartbeats.ts'
import { BUSY_ENGINES, setUp } from './admit-under-test.ts'

test('a request that asks to wait for a model that is being started is admitted', () => {
  const { admit, demanded, startEnds } = setUp({ state: { state: 'stopped', etaMs: 20_000 } })
  const admission = admit(generationCall({ startWaitS: 30 }))
  expect(admission).toMatchObject({
    place: { mostAhead: Number.MAX_SAFE_INTEGER },
    startWait: { limitS: 30 },
  })
  expect(demanded()).toBeUndefined()
  admission.startWait?.begin()
  expect(demanded()).toMatchObject({ unserved: 1, refused: 0 })
  admission.claimed()
  admission.leave()
  expect(startEnds).toEqual(['started'])
})

test('a model that is served is not waited for', () => {
  const state = { state: 'warming', etaMs: 20_000 } as const
  const { admit } = setUp({ engines: BUSY_ENGINES, state })
  expect(admit(generationCall({ startWaitS: 30 }))).toMatchObject({
    place: { mostAhead: 12_000 },
    startWait: null,
  })
})

test('a wait does not help a request that is refused for another reason', () => {
  const state = { state: 'warming', etaMs: 20_000 } as const
  const call = generationCall({ startWaitS: 30 })
  const { model } = call
  expect(() => setUp({ state, full: true }).admit(call)).toThrow('cannot take new work')
  expect(() => setUp({ state, barred: true }).admit(call)).toThrow('is busy')
  expect(() => setUp({ state }).admit({ ...call, model: { ...model, enabled: false } })).toThrow(
    'not available',
  )
  expect(() => setUp({ state }).admit({ ...call, model: { ...model, fixedState: 'warming' } })).toThrow(
    'starting',
  )
  expect(() => setUp({}).admit(call)).toThrow('not available')
})

test('waits that are too many, or that the record refuses, are model_warming and demand', () => {
  const { admit, demanded, startEnds } = setUp({ state: { state: 'warming', etaMs: 20_000 } })
  const call = generationCall({ startWaitS: 30 })
  const admitted = [admit(call), admit(call)]
  expect(() => admit(call)).toThrow(expect.objectContaining({ code: 'model_warming', retryAfterS: 20 }))
  expect(demanded()).toMatchObject({ unserved: 1 })
  expect(admitted[0]?.refuse({ status: 'busy', reason: 'bytes', ahead: 9 })).toMatchObject({
    code: 'model_warming',
    retryAfterS: 20,
  })
  admitted[0]?.leave()
  expect(startEnds).toEqual(['refused', 'refused'])
  expect(demanded()).toMatchObject({ unserved: 2, refused: 2 })
  // The record's refusal holds for a moment.
  expect(() => admit(call)).toThrow(expect.objectContaining({ code: 'model_warming' }))
})

test('a wait ends as left where the client hung up, and as failed otherwise', () => {
  const { admit, startEnds } = setUp({ state: { state: 'warming', etaMs: 20_000 } })
  for (const signal of [new AbortController().signal, AbortSignal.abort()]) {
    const admission = admit(generationCall({ startWaitS: 30, signal }))
    admission.startWait?.begin()
    admission.leave()
  }
  expect(startEnds).toEqual(['failed', 'left'])
})

test('a model that was not started in time is warming, busy or unavailable, as it then is', () => {
  const { admit, modelStates, picture } = setUp({ state: { state: 'warming', etaMs: 20_000 } })
  const { notStarted } = admit(generationCall({ startWaitS: 30 }))
  const cause = { reason: 'not-started' }
  expect(notStarted()).toMatchObject({ code: 'model_warming', retryAfterS: 20, cause })
  const model = { model: 'demo-chat', ready: 0, target: 1, etaMs: null }
  modelStates.apply({ term: 1, models: [{ ...model, state: 'starved' }] })
  expect(notStarted()).toMatchObject({ code: 'model_unavailable', cause })
  picture.applyHeartbeat(toBeat({}, { model: 'demo-chat', slots: 1, running: 1 }))
  expect(notStarted()).toMatchObject({ code: 'model_busy', cause })
})

test('a refusal for a busy model does not hold for a model that has lost its worker', () => {
  const engines = [{ slots: 4, running: 4, meanMs: 1_000 }]
  const { admit, picture } = setUp({ engines, state: { state: 'warming', etaMs: 60_000 } })
  admit(generationCall()).refuse({ status: 'busy', reason: 'queue', ahead: 100_000 })
  expect(() => admit(generationCall({ startWaitS: 30 }))).toThrow('is busy')
  picture.forgetWorker('worker-0')
  expect(admit(generationCall({ startWaitS: 30 })).startWait).toMatchObject({ limitS: 30 })
})
