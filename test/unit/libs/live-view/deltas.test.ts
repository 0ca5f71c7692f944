import { expect, test } from 'vitest'
import { applyDelta, toDelta, type Parts } from '#libs/live-view/deltas.ts'

const AS_OF = '2026-11-23T05:00:00.000Z'
const BEFORE = {
  cluster: { running: 1, workers: { ready: 1 } },
  models: [
    { id: 'a', n: 1, of: { x: 1 } },
    { id: 'b', n: 1, of: { x: 1 } },
  ],
}

test('a delta has the changed fields of changed rows, new rows, the ids of those that are gone, and changed values', () => {
  const after = {
    cluster: { running: 1, workers: { ready: 2 } },
    models: [
      { id: 'b', n: 1, of: { x: 2 } },
      { id: 'c', n: 3, of: { x: 3 } },
    ],
  }
  const delta = toDelta(BEFORE, after, AS_OF)
  expect(delta).toEqual({
    asOf: AS_OF,
    tables: {
      models: {
        changed: [
          { id: 'b', of: { x: 2 } },
          { id: 'c', n: 3, of: { x: 3 } },
        ],
        gone: ['a'],
      },
    },
    values: { cluster: { running: 1, workers: { ready: 2 } } },
  })
  expect(applyDelta(BEFORE, delta)).toEqual(after)
})

test('what is equal is not sent, also where it is another object, or lists have other fields', () => {
  expect(toDelta(BEFORE, structuredClone(BEFORE), AS_OF)).toEqual({ asOf: AS_OF, tables: {}, values: {} })
  const before: Parts = { value: { a: 1 } }
  expect(toDelta(before, { value: { b: 1 } }, AS_OF).values).toEqual({ value: { b: 1 } })
  expect(toDelta(before, { value: { a: 1, b: 1 } }, AS_OF).values).toEqual({ value: { a: 1, b: 1 } })
})

test('random states survive the way through deltas', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const state = (): Parts => ({
    value: { a: random(2), list: [random(2), null] },
    rows: Array.from({ length: 5 }, (_, id) => ({
      id: String(id),
      n: random(2),
      of: { m: random(2) },
    })).filter(() => random(3) > 0),
  })
  let before = state()
  let seen: Parts = before
  const sorted = ({ rows, ...rest }: Parts) => ({
    ...rest,
    rows: Array.isArray(rows)
      ? rows.map((row) => JSON.stringify(row, ['id', 'n', 'of', 'm'])).toSorted()
      : rows,
  })
  for (let round = 0; round < 200; round += 1) {
    const after = state()
    seen = applyDelta(seen, toDelta(before, after, AS_OF))
    expect(sorted(seen)).toEqual(sorted(after))
    before = after
  }
})
