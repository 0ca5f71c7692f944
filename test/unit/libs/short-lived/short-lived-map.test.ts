import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'

test('a map has what was set and not deleted, in order', () => {
  const map = new ShortLivedMap<string, { n: number }>()
  map.set('a', { n: 1 })
  map.set('b', { n: 2 })
  map.set('a', { n: 3 })
  expect([...map]).toEqual([
    ['a', { n: 3 }],
    ['b', { n: 2 }],
  ])
  expect([map.delete('a'), map.delete('a')]).toEqual([true, false])
  expect([map.get('a'), map.get('b'), map.has('a'), map.has('b')]).toEqual([undefined, { n: 2 }, false, true])
  map.set('a', { n: 4 })
  expect([[...map.keys()], [...map.values()], map.size]).toEqual([['b', 'a'], [{ n: 2 }, { n: 4 }], 2])
})

test('what is deleted while a map is read is not read any more, and what is set is', () => {
  const map = new ShortLivedMap<number, { n: number }>()
  for (const n of [1, 2, 3]) map.set(n, { n })
  const read: number[] = []
  for (const [key, { n }] of map) {
    read.push(n)
    map.delete(key)
    map.delete(2)
    if (n === 3) map.set(4, { n: 4 })
  }
  expect(read).toEqual([1, 3, 4])
  expect(map.size).toBe(0)
})

/**
 * A program that runs in a separate process with little memory for new objects. It prints by how many MB of deleted
 * values the memory of old objects grows.
 */
const CHURN = `
import { getHeapSpaceStatistics } from 'node:v8'
import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'
const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space').space_used_size
const values = process.argv[1] === 'plain' ? new Map() : new ShortLivedMap()
values.set(-1, {})
// The table of a Map that was quiet for a while is old.
for (let n = 0; n < 3; n += 1) gc({ type: 'minor' })
const before = old()
for (let n = 0; n < 5_000; n += 1) {
  values.set(n, { bytes: new Array(250).fill(n) })
  values.delete(n - 20)
}
console.log(Math.round((old() - before) / 1e6))
`

test('collections of new objects free the values that are deleted', () => {
  const grownMb = (kind: 'plain' | 'short-lived') =>
    Number(
      execFileSync(
        process.execPath,
        ['--expose-gc', '--max-semi-space-size=1', '--input-type=module-typescript', '--eval', CHURN, kind],
        { encoding: 'utf8' },
      ),
    )
  expect(grownMb('short-lived')).toBeLessThan(2)
  // If this fails, this version of V8 does not need the class any more.
  expect(grownMb('plain')).toBeGreaterThan(2)
})
