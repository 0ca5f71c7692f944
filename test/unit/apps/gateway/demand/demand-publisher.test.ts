import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDemandPublisher } from '#apps/gateway/demand/demand-publisher.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function setUp() {
  const publish = vi.fn<() => void>()
  const publisher = createDemandPublisher({ publish, nowMs: () => Date.now() })
  return { publisher, published: () => publish.mock.calls.length }
}

test('the first refusal is published at once', () => {
  const { publisher, published } = setUp()
  publisher.publishSoon()
  expect(published()).toBe(1)
})

test('refusals in each millisecond of a second make ten messages, and one after the last refusal', () => {
  const { publisher, published } = setUp()
  for (let refusal = 0; refusal < 999; refusal += 1) {
    publisher.publishSoon()
    vi.advanceTimersByTime(1)
  }
  expect(published()).toBe(10)
  vi.advanceTimersByTime(100)
  expect(published()).toBe(11)
  vi.advanceTimersByTime(10_000)
  expect(published()).toBe(11)
})

test('a tick publishes what was due', () => {
  const { publisher, published } = setUp()
  publisher.publishSoon()
  publisher.publishSoon()
  publisher.tick()
  vi.advanceTimersByTime(1_000)
  expect(published()).toBe(2)
})

test('nothing is published after the close', () => {
  const { publisher, published } = setUp()
  publisher.publishSoon()
  publisher.publishSoon()
  publisher.close()
  vi.advanceTimersByTime(1_000)
  expect(published()).toBe(1)
})
