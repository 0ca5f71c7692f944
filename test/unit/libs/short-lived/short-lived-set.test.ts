import { expect, test } from 'vitest'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'

test('a set has what was added and not taken out, in order', () => {
  const set = new ShortLivedSet<{ n: number }>()
  const [, second = 0] = [1, 2, 3].map((n) => set.add({ n }))
  expect([set.delete(second), set.delete(second)]).toEqual([true, false])
  expect([...set]).toEqual([{ n: 1 }, { n: 3 }])
  expect(set.size).toBe(2)
})
