import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createProblems, type Facts } from '#apps/console/live/problems.ts'
import type { ModelNow, ProcessNow, WorkerNow } from '#libs/live-view/rows.ts'

const QUIET: Facts = {
  models: [],
  workers: [],
  processes: [],
  cluster: { failedShare: null, redisMemory: null, versions: { '1.0.0': 3 } },
  sources: { busAwayMs: 0, queueAwayMs: 0 },
}

function model(fields: Partial<ModelNow> = {}): ModelNow {
  return {
    id: 'chat',
    state: 'serving',
    waiting: 0,
    oldestWaitMs: null,
    running: 0,
    slots: 8,
    workers: { ready: 1, all: 1 },
    askedPerS: 0,
    endsPerS: 0,
    failedPerS: 0,
    meanGenerationMs: null,
    expectedWaitMs: 0,
    shortSlots: 0,
    tokensPerS: { prompt: 0, cached: 0, completion: 0 },
    queueMs: { p50: null, p95: null },
    firstTokenMs: { p50: null, p95: null },
    refusedPerS: {},
    ...fields,
  }
}

function worker(fields: Partial<WorkerNow> = {}): WorkerNow {
  return {
    id: 'w1 chat',
    worker: 'w1',
    name: 'worker-0',
    model: 'chat',
    state: 'ready',
    since: '2030-01-01T00:00:00.000Z',
    running: 0,
    slots: 8,
    kvUse: null,
    cacheHits: null,
    outputPerS: 0,
    meanGenerationMs: null,
    loadingMs: null,
    seenMs: 0,
    node: null,
    pool: null,
    host: null,
    version: null,
    engineWaiting: null,
    engineVersion: null,
    address: null,
    contextWindow: null,
    pendingSettlements: null,
    problem: null,
    refuses: null,
    ...fields,
  }
}

function gateway(fields: Partial<ProcessNow> = {}): ProcessNow {
  return {
    id: 'g1',
    kind: 'gateway',
    name: 'gateway-0',
    host: 'edge',
    pid: 1,
    version: '1.0.0',
    startedAt: '2030-01-01T00:00:00.000Z',
    seenMs: 0,
    openStreams: 0,
    loopDelayMs: 0,
    pendingSettlements: 0,
    ...fields,
  }
}

const SHORT = model({ state: 'short', shortSlots: 87, waiting: 261, expectedWaitMs: 30_000 })

/** The facts of each problem alone, and the time that it must last before it is shown. */
const CASES: readonly [name: string, facts: Partial<Facts>, forMs: number][] = [
  ['RedisDown', { sources: { busAwayMs: 0, queueAwayMs: 5_001 } }, 0],
  ['RedisMemory', { cluster: { ...QUIET.cluster, redisMemory: 0.81 } }, 0],
  ['ModelUnserved', { models: [model({ state: 'unserved', waiting: 1 })] }, 5_000],
  ['ModelUnserved', { models: [model({ state: 'starved', waiting: null, askedPerS: 0.1 })] }, 5_000],
  ['ModelShort', { models: [SHORT] }, 10_000],
  ['QueueOld', { models: [{ ...SHORT, oldestWaitMs: 60_000 }] }, 10_000],
  ['ErrorBudgetBurnFast', { cluster: { ...QUIET.cluster, failedShare: 0.011 } }, 10_000],
  ['PendingSettlements', { processes: [gateway({ pendingSettlements: 1 })] }, 30_000],
  ['WorkerSilent', { workers: [worker({ state: 'silent' })] }, 5_000],
  ['EngineRestartLoop', { workers: [worker({ state: 'sick' })] }, 0],
  ['StartSlow', { workers: [worker({ state: 'loading', loadingMs: 600_000 })] }, 0],
  ['EventLoopLag', { processes: [gateway({ loopDelayMs: 201 })] }, 30_000],
  ['MixedVersions', { cluster: { ...QUIET.cluster, versions: { '1.0.0': 3, '1.1.0': 1 } } }, 600_000],
]

/** Sets up problems over time. `at` returns the shown problems at a time. */
function setUp() {
  let nowMs = 0
  const problems = createProblems(() => nowMs)
  return (atMs: number, facts: Partial<Facts>) => {
    nowMs = atMs
    return problems.list({ ...QUIET, ...facts })
  }
}

test.each(CASES)('%s is shown when it has lasted long enough, with its beginning', (name, facts, forMs) => {
  const at = setUp()
  const isShown = (atMs: number) => at(atMs, facts).some((found) => found.name === name)
  expect(isShown(0)).toBe(forMs === 0)
  expect(isShown(Math.max(0, forMs - 1))).toBe(forMs === 0)
  const found = at(forMs, facts).find((problem) => problem.name === name)
  expect(found).toMatchObject({ since: '1970-01-01T00:00:00.000Z' })
  expect(at(forMs + 1, {})).toEqual([])
  // The time of the problem begins anew.
  const again = at(forMs + 2, facts).find((problem) => problem.name === name)
  expect(again?.since).toBe(forMs > 0 ? undefined : new Date(forMs + 2).toISOString())
})

test.each(CASES)('the runbook of %s exists, with the paragraph that it names', (name, facts, forMs) => {
  const at = setUp()
  at(0, facts)
  const found = at(forMs, facts).find((problem) => problem.name === name)
  const [path = '', paragraph] = found?.runbook.split('#') ?? []
  expect(existsSync(path)).toBe(true)
  const headings = [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
    text.toLowerCase().replaceAll(' ', '-'),
  )
  expect([undefined, ...headings]).toContain(paragraph)
})

test('what is well, or only not known, is no problem', () => {
  const at = setUp()
  const facts: Partial<Facts> = {
    models: [
      model(),
      // No request asks for this model.
      model({ id: 'idle', state: 'stopped' }),
      model({ id: 'starting', state: 'warming', waiting: 3 }),
      model({ id: 'off', state: 'disabled' }),
      model({ id: 'fixed', state: 'fixed' }),
    ],
    workers: [
      worker(),
      worker({ id: 'w2 chat', worker: 'w2', state: 'draining' }),
      worker({ id: 'w3 chat', worker: 'w3', state: 'cordoned' }),
      worker({ id: 'w4 chat', worker: 'w4', state: 'loading', loadingMs: 599_999 }),
      worker({ id: 'w5 chat', worker: 'w5', state: 'loading', loadingMs: null }),
    ],
    processes: [
      gateway({ loopDelayMs: 200 }),
      gateway({ id: 'g2', loopDelayMs: null, pendingSettlements: null }),
    ],
    cluster: { failedShare: 0.01, redisMemory: 0.8, versions: { '1.0.0': 3 } },
    sources: { busAwayMs: 0, queueAwayMs: 5_000 },
  }
  at(0, facts)
  expect(at(3_600_000, facts)).toEqual([])
})

test('a sentence has its values, and says what is not known', () => {
  const at = setUp()
  const facts = {
    models: [
      { ...SHORT, refusedPerS: { model_busy: 3, model_unavailable: 0.1 } },
      { ...SHORT, id: 'other', waiting: null, expectedWaitMs: null },
    ],
  }
  at(0, facts)
  expect(at(10_000, facts).map(({ text }) => text)).toEqual([
    'chat is short of 87 slots: 261 wait, expected 30 s, 3.1 refused a second',
    'other is short of 87 slots: ? wait, expected not known, 0 refused a second',
  ])
})

test('the same problem of two models is two problems, and one that goes leaves the time of the other', () => {
  const at = setUp()
  const other = { ...SHORT, id: 'other' }
  at(0, { models: [SHORT] })
  at(5_000, { models: [SHORT, other] })
  const both = at(15_000, { models: [SHORT, other] })
  expect(both.map(({ id }) => id)).toEqual(['ModelShort chat', 'ModelShort other'])
  expect(at(16_000, { models: [other] })).toMatchObject([{ id: 'ModelShort other', since: both[1]?.since }])
})

test('the gravest come first, and twenty silent workers do not hide that Redis is away', () => {
  const at = setUp()
  const facts = {
    workers: Array.from({ length: 500 }, (_, index) =>
      worker({ id: `w${index} chat`, worker: `w${index}`, state: 'silent' }),
    ),
    sources: { busAwayMs: 0, queueAwayMs: 9_400 },
  }
  at(0, facts)
  const found = at(5_000, facts)
  expect(found[0]).toMatchObject({ name: 'RedisDown', text: expect.stringContaining('9 s') })
  expect(found).toHaveLength(21)
})
