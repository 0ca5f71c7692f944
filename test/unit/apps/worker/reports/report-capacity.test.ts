import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCapacityReports } from '#apps/worker/reports/report-capacity.ts'
import { Capacity } from '#libs/event-bus/scaling-signals.ts'

const IDENTITY = { id: 'boot-1', name: 'pod-1', podUid: 'uid-1', node: 'node-1', pool: 'demo' }
const ENGINE = { model: 'demo', ready: true, slots: 8, running: 3, contextWindow: 4_096 }
const TOTALS = { ended: 5, promptTokens: 500, cachedTokens: 50, outputTokens: 700 }

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function setUp() {
  const state = { draining: false, healthy: true, cordoned: false, sick: false }
  const served = {
    state: () => ({ ...ENGINE, meanGenerationMs: 1_200, slotTokensPerS: 500 }),
    isHealthy: () => state.healthy,
    totals: () => TOTALS,
    kv: () => ({ used: 40, capacity: 100 }),
    engine: () => ({ version: '0.32.0 python', waiting: null }),
  }
  const life = { isSick: () => state.sick, loadingMs: () => 9_000 }
  const published: Capacity[] = []
  const reports = createCapacityReports({
    identity: IDENTITY,
    engines: [
      { config: { model: 'demo' }, life, served },
      { config: { model: 'large' }, life, served: null },
    ],
    cordon: { isCordoned: () => state.cordoned, term: () => (state.cordoned ? 7 : null) },
    isDraining: () => state.draining,
    publish: (capacity) => published.push(Capacity.parse(capacity)),
  })
  return { state, published, reports }
}

test('each engine is reported from the start on and each second, also one that has not answered', () => {
  const { published, reports } = setUp()
  expect(published).toEqual([
    {
      ...IDENTITY,
      ...TOTALS,
      model: 'demo',
      phase: 'ready',
      slots: 8,
      running: 3,
      meanGenerationMs: 1_200,
      kvUsed: 40,
      kvCapacity: 100,
      loadingMs: null,
      cordonTerm: null,
      engine: '0.32.0 python',
    },
    {
      ...IDENTITY,
      model: 'large',
      phase: 'loading',
      slots: 0,
      running: 0,
      meanGenerationMs: null,
      ended: 0,
      promptTokens: 0,
      cachedTokens: 0,
      outputTokens: 0,
      kvUsed: null,
      kvCapacity: null,
      loadingMs: 9_000,
      cordonTerm: null,
    },
  ])
  vi.advanceTimersByTime(2_000)
  expect(published).toHaveLength(6)
  reports.stop()
  vi.advanceTimersByTime(5_000)
  expect(published).toHaveLength(6)
})

test('a change of phase is reported at once, with the term of the cordon', () => {
  const { state, published, reports } = setUp()
  const last = () => published.at(-2)
  state.cordoned = true
  reports.send()
  expect(last()).toMatchObject({ phase: 'cordoned', running: 3, cordonTerm: 7 })
  state.healthy = false
  reports.send()
  expect(last()).toMatchObject({ phase: 'loading', loadingMs: 9_000, cordonTerm: 7 })
  state.draining = true
  reports.send()
  expect(published.slice(-2)).toMatchObject([{ phase: 'draining' }, { phase: 'draining', loadingMs: null }])
  reports.stop()
})
