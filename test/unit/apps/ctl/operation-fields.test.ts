import { expect, test } from 'vitest'
import { z } from 'zod'
import { fieldOf, text } from '#apps/ctl/fields.ts'
import { fieldsOf } from '#apps/ctl/operation-fields.ts'
import { countIn, Day, Id, Reason, TimeInput } from '#libs/admin-contract/fields.ts'
import { defineChange, defineRead } from '#libs/admin-contract/operation.ts'

const read = defineRead({
  path: '/things/{oldThing}',
  summary: 'Reads things.',
  roles: ['owner'],
  params: z.strictObject({ oldThing: Id.meta({ description: 'Id of the thing.' }) }),
  query: z.strictObject({
    day: Day.meta({ description: 'The first day.' }),
    to: TimeInput.optional(),
    kind: z.enum(['red', 'green', 'blue']).optional(),
    minMs: countIn({ min: 0, max: 9 }).optional().meta({ description: 'At least.' }),
  }),
  answer: z.object({}),
})

const change = defineChange({
  method: 'POST',
  path: '/things',
  summary: 'Makes a thing.',
  roles: ['owner'],
  body: z.strictObject({
    name: z.string().meta({ description: 'Of the thing.' }),
    models: z.array(z.string()).nullable().optional().meta({ description: 'What it may use.' }),
    perMinute: z.int().nullable().optional().meta({ description: 'The most.' }),
    limit: z.object({}).optional(),
    reason: Reason,
  }),
  answer: z.object({}),
})

const own = { limit: text('LIMIT', 'its limit') }

test('the path gives the arguments, the query the options, each with the words of the contract', () => {
  const fields = fieldsOf(read, {})
  expect(Object.entries(fields).map(([name, field]) => ({ name, ...fieldOf(field) }))).toEqual([
    { name: 'oldThing', kind: 'argument', value: 'THING', help: 'id of the thing' },
    { name: 'day', kind: 'text', value: 'DAY', help: 'the first day; such as 2030-01-01' },
    { name: 'to', kind: 'text', value: 'TIME', help: 'such as 2030-01-01T00:00:00Z' },
    { name: 'kind', kind: 'text', value: 'KIND', help: 'red, green or blue' },
    { name: 'minMs', kind: 'text', value: 'MS', help: 'at least' },
  ])
})

test('the body gives options too, but for those by position and those of the command', () => {
  const fields = fieldsOf(change, { places: ['name'], own })
  expect(Object.entries(fields).map(([name, field]) => [name, fieldOf(field).kind])).toEqual([
    ['name', 'argument'],
    ['models', 'text'],
    ['perMinute', 'text'],
    ['limit', 'text'],
    ['reason', 'text'],
  ])
  expect(fields['limit']).toBe(own.limit)
})

test('a text is read as the type of its field; none is null where a field may be null', () => {
  const given = z.strictObject(fieldsOf(change, { own }))
  const asked = { name: 'none', reason: 'why' }
  expect(given.parse(asked)).toEqual(asked)
  expect(given.parse({ ...asked, models: 'a, b', perMinute: '60' })).toMatchObject({
    models: ['a', 'b'],
    perMinute: 60,
  })
  expect(given.parse({ ...asked, models: 'none', perMinute: 'none' })).toMatchObject({
    models: null,
    perMinute: null,
  })
  expect(given.safeParse({ ...asked, perMinute: 'x' }).error?.issues[0]?.message).toMatch(/is not a whole/)
  expect(given.safeParse({ name: 'n' }).error?.issues[0]).toMatchObject({
    path: ['reason'],
    message: 'is missing',
  })
})

test('an object has no form as a text, and a field without a description no help', () => {
  expect(() => fieldsOf(change, {})).toThrow('does not describe limit')
  const body = z.strictObject({ limit: z.object({}).optional().meta({ description: 'Its limit.' }) })
  expect(() => fieldsOf({ ...change, body }, {})).toThrow('limit cannot be given as a text')
})
