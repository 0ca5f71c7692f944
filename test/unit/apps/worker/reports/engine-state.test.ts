import { expect, test } from 'vitest'
import { toEngineState } from '#apps/worker/reports/engine-state.ts'
import { toEngine } from '../../../../support/heartbeats.ts'

const { phase: _phase, loadingMs: _loadingMs, ...STATE } = toEngine({ model: 'demo', running: 3, ended: 5 })
const WORKER = { draining: false, cordoned: false }

function engineOf({ isSick = false, isHealthy = true } = {}) {
  return {
    config: { model: 'demo' },
    life: { isSick: () => isSick, loadingMs: () => 9_000 },
    served: { state: () => STATE, isHealthy: () => isHealthy },
  }
}

test('an engine that has answered has its measurements, and the time of its loading only while it loads', () => {
  expect(toEngineState(engineOf(), WORKER)).toEqual({ ...STATE, phase: 'ready', loadingMs: null })
  const loading = toEngineState(engineOf({ isHealthy: false }), WORKER)
  expect(loading).toEqual({ ...STATE, phase: 'loading', loadingMs: 9_000 })
})

test('an engine that has not answered is described too, and pulls nothing', () => {
  const state = toEngineState({ ...engineOf(), served: null }, { ...WORKER, cordoned: true })
  expect(state).toMatchObject({
    model: 'demo',
    phase: 'loading',
    ready: false,
    slots: 0,
    contextWindow: null,
  })
})

test.each([
  [{ isHealthy: false }, { cordoned: true }, 'loading'],
  [{}, { cordoned: true }, 'cordoned'],
  [{ isSick: true }, { cordoned: true }, 'sick'],
  [{ isSick: true, isHealthy: false }, {}, 'sick'],
  [{ isSick: true, isHealthy: false }, { cordoned: true, draining: true }, 'draining'],
])('an engine of %j, of a worker of %j, is %s', (engine, worker, phase) => {
  expect(toEngineState(engineOf(engine), { ...WORKER, ...worker }).phase).toBe(phase)
})
