import { expect, it } from 'vitest'
import { z } from 'zod'
import { recordOf } from '#apps/gateway/endpoints/fields/record-of.ts'

const biases = recordOf(
  { name: z.string().regex(/^\d$/), value: z.number('expected a number') },
  { expected: 'expected at most three', most: 3 },
)
const issuesOf = (value: unknown) => biases.safeParse(value).error?.issues

it('is read up to its first wrong entry, which is the only issue', () => {
  expect(biases.parse({ 1: 5, 2: 6 })).toEqual({ 1: 5, 2: 6 })
  expect(issuesOf({ 1: 5, 2: 'x', 3: 'y' })).toMatchObject([{ path: ['2'], message: 'expected a number' }])
  expect(issuesOf({ a: 5, b: 'x' })).toMatchObject([{ path: ['a'], message: 'expected at most three' }])
  expect(issuesOf({ a: 5, b: 'x' })).toHaveLength(1)
})

it('is counted before its entries are read', () => {
  expect(issuesOf({ a: 1, b: 2, c: 3, d: 4 })).toMatchObject([
    { path: [], message: 'expected at most three' },
  ])
  expect(issuesOf([])).toMatchObject([{ path: [], message: 'expected at most three' }])
})

it('has no prototype of the caller’s choice', () => {
  const given: unknown = JSON.parse('{"__proto__":5,"1":2}')
  expect(Object.getPrototypeOf(biases.parse(given))).toBe(Object.prototype)
})
