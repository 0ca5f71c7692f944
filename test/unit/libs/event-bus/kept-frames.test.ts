import { beforeEach, expect, test } from 'vitest'
import { createKeptFrames, type KeptFrames } from '#libs/event-bus/kept-frames.ts'

let now: number
let kept: KeptFrames

beforeEach(() => {
  now = 0
  kept = createKeptFrames({ keepMs: 1_000, keepBytes: 20, nowMs: () => now })
})

function keep(gateway: string, text: string): number {
  const number = kept.nextNumber(gateway)
  kept.keep(gateway, text)
  return number
}

test('frames are counted for each gateway from 1, and given again from any number on', () => {
  expect([keep('a', 'a1'), keep('b', 'b1'), keep('a', 'a2'), keep('a', 'a3')]).toEqual([1, 1, 2, 3])
  expect([...kept.from('a', 2)]).toEqual(['a2', 'a3'])
  expect([...kept.from('a', -5)]).toEqual(['a1', 'a2', 'a3'])
  expect([...kept.from('a', 4)]).toEqual([])
  expect([...kept.from('c', 1)]).toEqual([])
  expect([kept.firstKept('a'), kept.lastNumber('a'), kept.firstKept('c'), kept.lastNumber('c')]).toEqual([
    1, 3, 1, 0,
  ])
})

test('an acknowledgement drops what arrived, and no more', () => {
  keep('a', 'a1')
  keep('a', 'ä2')
  expect(kept.bytes()).toBe(5)
  kept.drop('a', 1)
  expect([...kept.from('a', 1)]).toEqual(['ä2'])
  expect(kept.firstKept('a')).toBe(2)
  kept.drop('a', 7)
  expect([kept.firstKept('a'), kept.bytes()]).toEqual([3, 0])
  keep('a', 'a3')
  expect([...kept.from('a', 1)]).toEqual(['a3'])
})

test('beyond the bytes the oldest frames of all gateways go first', () => {
  keep('a', '0123456789')
  now = 1
  keep('b', '012345')
  now = 2
  keep('a', '0123')
  expect([kept.firstKept('a'), kept.firstKept('b')]).toEqual([1, 1])
  now = 3
  keep('b', 'x')
  expect([kept.firstKept('a'), kept.firstKept('b'), kept.bytes()]).toEqual([2, 1, 11])
  now = 4
  keep('a', '0123456789')
  expect([kept.firstKept('a'), kept.firstKept('b'), kept.bytes()]).toEqual([2, 2, 15])
})

test('frames go when they are too old, also while nothing is published', () => {
  keep('a', 'a1')
  now = 500
  keep('a', 'a2')
  now = 1_000
  expect([kept.firstKept('a'), kept.bytes()]).toEqual([2, 2])
  now = 1_500
  expect([kept.bytes(), kept.firstKept('a')]).toEqual([0, 3])
})

test('what is forgotten is gone, and its numbers are never used again', () => {
  keep('a', 'a1')
  kept.nextNumber('a')
  kept.forget('a')
  expect([kept.firstKept('a'), kept.bytes()]).toEqual([3, 0])
  expect(keep('a', 'a3')).toBe(3)
  expect([...kept.from('a', 3)]).toEqual(['a3'])
})

test('ten thousand frames pass through without growing what is kept', () => {
  for (let at = 1; at <= 10_000; at += 1) {
    keep('a', 'x')
    if (at > 5) kept.drop('a', at - 5)
  }
  expect([kept.firstKept('a'), kept.bytes(), [...kept.from('a', 1)].length]).toEqual([9_996, 5, 5])
})
