import { expect, test } from 'vitest'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { DEMAND } from '#libs/event-bus/scaling-signals.ts'

function setUp() {
  const clock = { nowMs: 1_000 }
  let unserved = 0
  const demand = createDemand({ onUnserved: () => (unserved += 1), nowMs: () => clock.nowMs })
  return { demand, clock, unserved: () => unserved }
}

const FRESH = { model: 'a', isRepeated: false }
const REPEATED = { model: 'a', isRepeated: true }

test('each request counts by its client’s mark and by its outcome, since the start', () => {
  const { demand } = setUp()
  demand.count({ ...FRESH, outcome: 'accepted' })
  demand.count({ ...FRESH, outcome: 'busy' })
  demand.count({ ...REPEATED, outcome: 'busy' })
  demand.count({ ...REPEATED, outcome: 'unserved' })
  demand.count({ ...FRESH, model: 'b', outcome: 'accepted' })
  expect(demand.read()).toEqual({
    a: { fresh: 2, repeated: 2, refused: 3, unserved: 1, waitingTokens: 0, unservedAgoMs: 0 },
    b: { fresh: 1, repeated: 0, refused: 0, unserved: 0, waitingTokens: 0, unservedAgoMs: null },
  })
})

test('only a refusal for want of a worker is reported at once', () => {
  const { demand, unserved } = setUp()
  demand.count({ ...FRESH, outcome: 'accepted' })
  demand.count({ ...FRESH, outcome: 'busy' })
  expect(unserved()).toBe(0)
  demand.count({ ...FRESH, outcome: 'unserved' })
  expect(unserved()).toBe(1)
})

test('what waits is the sum of what waits now, however often a wait is ended', () => {
  const { demand } = setUp()
  const endFirst = demand.wait('a', 30)
  demand.wait('a', 12)
  expect(demand.read()['a']).toMatchObject({ waitingTokens: 42 })
  endFirst()
  endFirst()
  expect(demand.read()['a']).toMatchObject({ waitingTokens: 12 })
})

test('a model is left out a minute after its last request, and has its counts when it returns', () => {
  const { demand, clock } = setUp()
  demand.count({ ...FRESH, outcome: 'unserved' })
  clock.nowMs += 59_999
  expect(demand.read()['a']).toMatchObject({ unserved: 1, unservedAgoMs: 59_999 })
  clock.nowMs += 1
  expect(demand.read()).toEqual({})
  demand.count({ ...FRESH, outcome: 'accepted' })
  expect(demand.read()['a']).toMatchObject({ fresh: 2, unserved: 1, unservedAgoMs: null })
})

test('a model for which something waits is never left out', () => {
  const { demand, clock } = setUp()
  const endWait = demand.wait('a', 5)
  clock.nowMs += 300_000
  expect(demand.read()['a']).toMatchObject({ fresh: 0, waitingTokens: 5 })
  endWait()
  expect(demand.read()).toEqual({})
})

test('a message of these numbers is one that scalers can read', () => {
  const { demand } = setUp()
  demand.count({ ...FRESH, outcome: 'unserved' })
  const message = { id: 'gateway-1', openStreams: 0, loopDelayMs: 0, models: demand.read() }
  expect(DEMAND.schema.parse(JSON.parse(JSON.stringify(message)))).toEqual(message)
})

test('what waits for its model’s start is counted as unserved, not as refused, and reported at once', () => {
  const { demand, unserved } = setUp()
  demand.count({ ...FRESH, outcome: 'accepted' })
  demand.awaitStart('a')
  expect(unserved()).toBe(1)
  expect(demand.read()['a']).toMatchObject({ fresh: 1, refused: 0, unserved: 1, unservedAgoMs: null })
})
