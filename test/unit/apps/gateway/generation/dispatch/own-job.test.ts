import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { setUp, WAITING } from './dispatch-under-test.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const HOMED = {
  status: 'waiting',
  tag: 7,
  ahead: 0,
  costAhead: 0,
  home: { worker: 'home', hasSeat: true },
} as const
const SEATS = { taken: ['one'], sought: ['one'], otherwise: null, heldMs: 300 }
const CLAIM = { promptTokens: 10 }

test('a turn asks its home to look, and has no job while it waits for it', async () => {
  const { dispatched, log, after } = setUp([HOMED], { seats: SEATS })
  await dispatched.begin()
  await after(250)
  expect(log).toEqual(['enqueue 1', 'look home'])
  dispatched.claimed({ worker: 'home', ...CLAIM })
  await after(1_000)
  expect(log).toEqual(['enqueue 1', 'look home', 'warm', 'watch home'])
})

test('a turn that its home does not claim in time gets its job', async () => {
  const { dispatched, log, after } = setUp([HOMED], { seats: SEATS })
  await dispatched.begin()
  await after(301)
  expect(log).toEqual(['enqueue 1', 'look home', 'add 1'])
  dispatched.claimed({ worker: 'home', ...CLAIM })
  expect(log.slice(3)).toEqual(['warm', 'watch home'])
})

test('a turn that was claimed, but has no output yet, gets no job', async () => {
  const { dispatched, log, after } = setUp([HOMED], { seats: SEATS, claimant: 'home' })
  await dispatched.begin()
  await after(301)
  dispatched.claimed({ worker: 'home', ...CLAIM })
  expect(log).toEqual(['enqueue 1', 'look home', 'warm', 'watch home'])
})

test('a home that is not ready, or does not listen, is given up at once', async () => {
  const unready = setUp([HOMED], { seats: SEATS, accepted: false })
  await unready.dispatched.begin()
  await unready.after(0)
  expect(unready.log).toEqual(['enqueue 1', 'given-up', 'leave home', 'add 1'])
  const unheard = setUp([HOMED], { seats: SEATS, looksUnheard: true })
  await unheard.dispatched.begin()
  await unheard.after(0)
  expect(unheard.log).toEqual(['enqueue 1', 'look home', 'given-up', 'leave home', 'add 1'])
})

test('a turn without a home gets its job at once', async () => {
  const { dispatched, log, after } = setUp([WAITING], { seats: SEATS })
  await dispatched.begin()
  await after(0)
  expect(log).toEqual(['enqueue 1', 'add 1'])
})
