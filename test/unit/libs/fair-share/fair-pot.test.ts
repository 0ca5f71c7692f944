import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairPot, type PotMember } from '#libs/fair-share/fair-pot.ts'

type Named = PotMember & { readonly name: string }

function createMembers() {
  const evicted: string[] = []
  const member = (name: string, speed = 0): Named => ({
    name,
    owner: name.slice(0, 1),
    speed: () => speed,
    evict: () => evicted.push(name),
  })
  return { evicted, member }
}

const namesIn = (pot: { members(): Iterable<Named> }) => [...pot.members()].map(({ name }) => name)

test('a full pot takes from the owner with the most, whose slowest member leaves', () => {
  const { evicted, member } = createMembers()
  const pot = createFairPot<Named>(10)
  for (const [name, speed, size] of [
    ['a1', 5, 3],
    ['a2', 1, 3],
    ['b1', 0, 4],
  ] as const) {
    expect(pot.take(member(name, speed), size)).toBe(true)
  }
  expect(pot.take(member('c1'), 1)).toBe(true)
  expect(evicted).toEqual(['a2'])
  expect(namesIn(pot)).toEqual(['a1', 'b1', 'c1'])
})

test('an owner that has the most, or as much as any other, makes room itself: with its slowest, or the youngest', () => {
  const { evicted, member } = createMembers()
  const pot = createFairPot<Named>(4)
  for (const name of ['a1', 'a2', 'b1', 'b2']) pot.take(member(name), 1)
  expect(pot.take(member('a3'), 1)).toBe(false)
  expect(evicted).toEqual([])
  expect(pot.take(member('a4', 1), 1)).toBe(true)
  expect(evicted).toEqual(['a2'])
})

test('one owner has at most its part, also when the pot is empty', () => {
  const { evicted, member } = createMembers()
  const pot = createFairPot<Named>(8, 2)
  expect(pot.take(member('a1'), 2)).toBe(true)
  expect([pot.hasPlace('a'), pot.hasPlace('b')]).toEqual([false, true])
  expect(pot.take(member('a2'), 1)).toBe(false)
  expect(pot.take(member('b1'), 3)).toBe(false)
  expect([evicted, namesIn(pot)]).toEqual([[], ['a1']])
})

test('a member that grows or shrinks is counted once, and one that has left is not counted', () => {
  const { evicted, member } = createMembers()
  const pot = createFairPot<Named>(10)
  const first = member('a1')
  for (const size of [2, 9, 3]) expect(pot.take(first, size)).toBe(true)
  expect(pot.take(member('b1'), 7)).toBe(true)
  pot.leave(first)
  pot.leave(first)
  expect(pot.take(member('c1'), 3)).toBe(true)
  expect(evicted).toEqual([])
})

test('whatever happens, the bounds hold, and an owner is refused only if no other has more', () => {
  const step = fc.record({
    owner: fc.constantFrom('a', 'b', 'c', 'd'),
    size: fc.integer({ min: 1, max: 6 }),
    leaves: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pot = createFairPot<Named>(12, 8)
      const sizes = new Map<Named, number>()
      const takenBy = (owner: string) =>
        [...sizes].reduce((sum, [other, size]) => sum + (other.owner === owner ? size : 0), 0)
      steps.forEach(({ owner, size, leaves }, index) => {
        const last = [...sizes.keys()].at(-1)
        if (leaves && last !== undefined) {
          pot.leave(last)
          sizes.delete(last)
        }
        const added: Named = { owner, name: `${index}`, evict: () => sizes.delete(added) }
        const own = takenBy(owner) + size
        sizes.set(added, size)
        const hasLeft = !pot.take(added, size)
        if (hasLeft) sizes.delete(added)
        const hasMost = own > 8 || ['a', 'b', 'c', 'd'].every((other) => takenBy(other) <= own)
        expect(hasLeft && !hasMost).toBe(false)
        expect(new Set(pot.members())).toEqual(new Set(sizes.keys()))
        expect(['a', 'b', 'c', 'd'].reduce((sum, other) => sum + takenBy(other), 0)).toBeLessThanOrEqual(12)
        expect(takenBy(owner)).toBeLessThanOrEqual(8)
      })
    }),
  )
})
