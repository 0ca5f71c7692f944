import { expect, test } from 'vitest'
import { createPicture } from '#apps/console/live/picture.ts'
import { describeProcess, type GatewayReport, type ModelReport } from '#libs/event-bus/reports.ts'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import { toBeat } from '../../../../support/heartbeats.ts'

const BUSY = { slots: 64, running: 64, meanGenerationMs: 7_350, kvUsed: 91, kvCapacity: 100 }
const beatOf = (engine: Partial<EngineState> = {}, id = 'w1') => toBeat({ id }, { ...BUSY, ...engine })
const MODEL: ModelReport = {
  catalog: null,
  asked: 0,
  refused: {},
  failed: {},
  queueMs: [],
  firstTokenMs: [],
  oldestWaitMs: null,
}

function gateway(model: Partial<ModelReport>, fields: Partial<GatewayReport> = {}): GatewayReport {
  return {
    ...describeProcess({ id: 'g1', name: 'gateway-0' }),
    kind: 'gateway',
    pendingSettlements: 0,
    models: { chat: { ...MODEL, ...model } },
    tenants: [],
    open: [],
    ended: [],
    ...fields,
  }
}

/** Sets up a watched picture at 100 s. `pass` lets seconds pass, each with its messages. */
function setUp() {
  const clock = { ms: 100_000 }
  const picture = createPicture({ nowMs: () => clock.ms, unixMs: () => clock.ms })
  picture.setWatched(true)
  return {
    picture,
    pass(seconds: number, each: () => void = () => {}) {
      for (let second = 0; second < seconds; second += 1) {
        clock.ms += 1_000
        each()
        picture.tick()
      }
    },
    chat: () => picture.rows().find(({ id }) => id === 'chat'),
  }
}

test('rates, waiting and shortage of a model follow from heartbeats, reports and the queue', () => {
  const { picture, pass, chat } = setUp()
  let [asked, settled, output] = [0, 0, 0]
  pass(12, () => {
    asked += 12
    settled += 5
    output += 300
    picture.receiveWorker(beatOf({ outputTokens: output }))
    picture.receiveReport(gateway({ asked, refused: { model_busy: asked / 4 }, oldestWaitMs: 9_000 }))
    picture.receiveQueues(new Map([['chat', { waiting: 261, settled }]]))
  })
  expect(chat()).toMatchObject({
    state: 'short',
    waiting: 261,
    oldestWaitMs: 9_000,
    running: 64,
    slots: 64,
    workers: { ready: 1, all: 1 },
    askedPerS: 12,
    endsPerS: 5,
    tokensPerS: { completion: 300 },
    refusedPerS: { model_busy: 3 },
    meanGenerationMs: 7_350,
    // ⌈12 × 7.35⌉ = 89 slots for new requests and ⌈261 × 7.35 ÷ 30⌉ = 64 for the queue are needed; there are 64.
    shortSlots: 89,
    // 64 slots of 7.35 s each can end 8.7 generations per second, more than the measured 5.
    expectedWaitMs: 30_000,
  })
  expect(picture.now().problems.map(({ name }) => name)).toEqual(['ModelShort'])
  expect(picture.now().cluster).toMatchObject({ waiting: 261, askedPerS: 12, gateways: 1 })
})

test('what only some sources know is not known, never zero', () => {
  const { picture, pass, chat } = setUp()
  pass(1, () => picture.receiveWorker(beatOf({ kvUsed: null, meanGenerationMs: null })))
  expect(chat()).toMatchObject({
    waiting: null,
    oldestWaitMs: null,
    expectedWaitMs: null,
    meanGenerationMs: null,
  })
  expect(picture.workers().workers).toMatchObject([
    {
      host: null,
      version: null,
      engineVersion: null,
      kvUse: null,
      cacheHits: null,
      pendingSettlements: null,
    },
  ])
})

test('a queue Redis that does not answer makes what waits unknown, and is a problem', () => {
  const { picture, pass, chat } = setUp()
  const signals = () => picture.receiveWorker(beatOf())
  pass(1, () => {
    signals()
    picture.receiveQueues(new Map([['chat', { waiting: 3, settled: 0 }]]))
  })
  expect(chat()?.waiting).toBe(3)
  pass(6, signals)
  expect(chat()?.waiting).toBeNull()
  expect(picture.now().sources.queueAwayMs).toBe(6_000)
  expect(picture.now().problems.map(({ name }) => name)).toContain('RedisDown')
})

test('a worker is silent after 5 s, forgotten after 10 min, and at once when it had drained', () => {
  const { picture, pass } = setUp()
  pass(1, () => {
    picture.receiveWorker(beatOf())
    picture.receiveWorker(beatOf({ phase: 'draining' }, 'w2'))
  })
  const states = () => picture.workers().workers.map(({ worker, state }) => `${worker} ${state}`)
  expect(states()).toEqual(['w1 ready', 'w2 draining'])
  pass(6)
  expect(states()).toEqual(['w1 silent'])
  pass(600)
  expect(states()).toEqual([])
})

test('unwatched, a worker of which something came within 40 s is not silent', () => {
  const { picture, pass } = setUp()
  pass(1, () => picture.receiveWorker(beatOf()))
  picture.setWatched(false)
  pass(30)
  expect(picture.workers().workers).toMatchObject([{ state: 'ready' }])
  // Watching begins now, so missing messages from the time before do not count.
  picture.setWatched(true)
  pass(4)
  expect(picture.workers().workers).toMatchObject([{ state: 'ready' }])
  pass(2)
  expect(picture.workers().workers).toMatchObject([{ state: 'silent' }])
})

test('a model without a worker is as the scaler says, warming while one loads, and as the catalog says', () => {
  const { picture, pass, chat } = setUp()
  pass(1, () => picture.receiveReport(gateway({})))
  expect(chat()?.state).toBe('unserved')
  const scale = { model: 'chat', ready: 0, target: 0, etaMs: null }
  for (const [state, shown] of [
    ['stopped', 'stopped'],
    ['starved', 'starved'],
    ['serving', 'unserved'],
  ] as const) {
    pass(1, () => picture.receiveStates({ term: 1, models: [{ ...scale, state }] }))
    expect(chat()?.state).toBe(shown)
  }
  pass(1, () => picture.receiveWorker(beatOf({ phase: 'loading', slots: 0, running: 0 })))
  expect(chat()?.state).toBe('warming')
  pass(1, () => picture.receiveReport(gateway({ catalog: 'disabled' })))
  expect(chat()?.state).toBe('disabled')
  pass(1, () => picture.receiveReport(gateway({ catalog: 'fixed' })))
  expect(chat()?.state).toBe('fixed')
})

test('tenants of several gateways add up, and the tail keeps each request once, the newest first', () => {
  const { picture, pass } = setUp()
  const tenant = { accountId: 'acme', model: 'chat', waiting: 2, running: 1, refused: 0 }
  const end = {
    id: 'r1',
    accountId: 'acme',
    model: 'chat',
    kind: 'slow',
    outcome: 'completed',
    code: null,
    weight: 1,
    endedAgoMs: 500,
    totalMs: 900,
    waitedMs: null,
    firstTokenMs: null,
    promptTokens: null,
    completionTokens: null,
  } as const
  pass(1, () => {
    picture.receiveReport(
      gateway({}, { tenants: [tenant], ended: [end, { ...end, id: 'r2', endedAgoMs: 100 }] }),
    )
    picture.receiveReport(gateway({}, { id: 'g2', tenants: [tenant], ended: [end] }))
  })
  expect(picture.model('chat').tenants).toMatchObject([{ id: 'acme chat', waiting: 4, running: 2 }])
  expect(picture.requests().ended.map(({ id }) => id)).toEqual(['r2', 'r1'])
})

test('what a gateway reported ages from its report on, whatever else the gateway sends', () => {
  const { picture, pass, chat } = setUp()
  const open = {
    id: 'r1',
    accountId: 'acme',
    model: 'chat',
    stage: 'waiting',
    ageMs: 5_000,
    tokens: 0,
  } as const
  pass(1, () => {
    picture.receiveReport(gateway({ oldestWaitMs: 5_000 }, { open: [open] }))
    picture.receiveQueues(new Map([['chat', { waiting: 1, settled: 0 }]]))
  })
  pass(3, () => {
    picture.receiveDemand({ id: 'g1', openStreams: 1, loopDelayMs: 1 })
    picture.receiveQueues(new Map([['chat', { waiting: 1, settled: 0 }]]))
  })
  expect(chat()?.oldestWaitMs).toBe(8_000)
  expect(picture.requests().open).toMatchObject([{ id: 'r1', startedAt: '1970-01-01T00:01:36.000Z' }])
})
