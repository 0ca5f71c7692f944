import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createCordon } from '#apps/worker/intake/cordon.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function setUp() {
  const changes: boolean[] = []
  const cordon = createCordon({
    onChange: () => changes.push(cordon.isCordoned()),
    nowMs: () => Date.now(),
    log: pino({ level: 'silent' }),
  })
  return { cordon, changes, pass: (ms: number) => void vi.advanceTimersByTime(ms) }
}

test('a cordon of a scaler ends 10 s after its last renewal', () => {
  const { cordon, changes, pass } = setUp()
  cordon.cordon(1, 10_000)
  pass(9_000)
  cordon.cordon(1, 10_000)
  pass(9_999)
  expect([cordon.isCordoned(), cordon.term()]).toEqual([true, 1])
  pass(1)
  expect([cordon.isCordoned(), cordon.term()]).toEqual([false, null])
  expect(changes).toEqual([true, false])
})

test('a scaler ends its cordon, or that of an earlier term, at once', () => {
  const { cordon, changes } = setUp()
  cordon.cordon(1, 10_000)
  cordon.uncordon(1)
  cordon.cordon(1, 10_000)
  cordon.uncordon(2)
  expect(changes).toEqual([true, false, true, false])
})

test('messages of a lower term than the highest are ignored', () => {
  const { cordon, pass } = setUp()
  cordon.cordon(5, 10_000)
  cordon.uncordon(4)
  expect(cordon.isCordoned()).toBe(true)
  cordon.cordon(4, 60_000)
  pass(10_000)
  expect(cordon.isCordoned()).toBe(false)
  cordon.cordon(4, 10_000)
  expect([cordon.isCordoned(), cordon.term()]).toEqual([false, null])
})

test('an uncordon is a message of its term too', () => {
  const { cordon } = setUp()
  cordon.uncordon(5)
  cordon.cordon(4, 10_000)
  expect(cordon.isCordoned()).toBe(false)
})

test('a minute after the last message of a term a lower one counts: a Redis that lost its data begins anew', () => {
  const { cordon, pass } = setUp()
  cordon.uncordon(5)
  pass(60_000)
  cordon.cordon(1, 10_000)
  expect(cordon.term()).toBe(1)
})

test('a long cordon is not ended by a lower term, however old its last message', () => {
  const { cordon, pass } = setUp()
  cordon.cordon(5, 120_000)
  pass(90_000)
  cordon.uncordon(4)
  expect(cordon.term()).toBe(5)
})

test('the cordons of an operator and of a scaler end by their own messages alone', () => {
  const { cordon, changes, pass } = setUp()
  cordon.cordon(null, null)
  cordon.cordon(1, 10_000)
  cordon.uncordon(1)
  pass(600_000)
  expect([cordon.isCordoned(), cordon.term()]).toEqual([true, null])
  cordon.cordon(1, 10_000)
  cordon.uncordon(null)
  expect([cordon.isCordoned(), cordon.term()]).toEqual([true, 1])
  pass(10_000)
  expect(changes).toEqual([true, false])
})
