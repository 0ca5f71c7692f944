import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFrameNumbers } from '#libs/event-bus/frame-numbers.ts'

test('numbers in any order, repeated and given up, are counted as a set counts them', () => {
  const number = fc.integer({ min: 1, max: 40 })
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.record({ add: number }) },
    { weight: 1, arbitrary: fc.record({ giveUp: number }) },
    { weight: 1, arbitrary: fc.record({ exists: number }) },
  )
  let examined = 0
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const numbers = createFrameNumbers()
      const arrived = new Set<number>()
      let highest = 0
      for (const each of steps) {
        if ('add' in each) {
          numbers.add(each.add)
          arrived.add(each.add)
        } else if ('giveUp' in each) {
          numbers.giveUp(each.giveUp)
          for (let at = 1; at <= each.giveUp; at += 1) arrived.add(at)
        } else numbers.noteHighest(each.exists)
        highest = Math.max(highest, ...Object.values(each))
        let missing = 1
        while (arrived.has(missing)) missing += 1
        expect(numbers.contiguous()).toBe(missing - 1)
        expect(numbers.firstMissing()).toBe(missing <= highest ? missing : null)
        for (let at = 1; at <= 42; at += 1) expect(numbers.has(at)).toBe(arrived.has(at))
        examined += 1
      }
    }),
  )
  expect(examined).toBeGreaterThan(100)
})

test('what lies behind too many gaps counts as missing, and memory stays bounded', () => {
  const numbers = createFrameNumbers()
  for (let number = 2; number <= 10_000; number += 2) numbers.add(number)
  expect(numbers.has(2)).toBe(true)
  expect(numbers.has(10_000)).toBe(false)
  expect(numbers.firstMissing()).toBe(1)
  expect(numbers.highest()).toBe(10_000)
})
