import { expect, test } from 'vitest'
import { z } from 'zod'
import { showFields, showTable, type Shown } from '#apps/ctl/view.ts'
import { Nano, Time, Whole } from '#libs/admin-contract/fields.ts'

const Item = z.object({
  id: z.string(),
  costNano: Nano.nullable(),
  count: z.int().nullable(),
  lastSeq: Whole.meta({ description: 'Inclusive.' }),
  late: z.boolean(),
  seenAt: Time.nullable(),
  tags: z.array(z.string()),
})
type Item = z.infer<typeof Item>

const item: Item = {
  id: 'a',
  costNano: '1500000000',
  count: 7,
  lastSeq: '12',
  late: true,
  seenAt: '2030-01-01T00:00:00.123Z',
  tags: ['x', 'y'],
}
const bare: Item = { ...item, id: 'bb', costNano: null, count: null, lastSeq: '3', late: false, seenAt: null }

const SHOWN: readonly Shown<Item>[] = [
  ['id', 'item'],
  'costNano',
  'count',
  'lastSeq',
  'late',
  'seenAt',
  { title: 'tags', cell: ({ tags }) => tags.join(' ') },
]

test('a table has credits, times, yes or no by the types of the fields, and numbers to the right', () => {
  expect(showTable(Item, SHOWN, [item, bare])).toBe(
    [
      'item  cost  count  last  late  seen                  tags',
      'a      1.5      7    12  yes   2030-01-01 00:00:00Z  x y',
      'bb       -      -     3  no    -                     x y',
      '',
    ].join('\n'),
  )
})

test('one item is shown with a line for each field', () => {
  expect(showFields(Item, SHOWN.slice(0, 2), bare)).toBe('item  bb\ncost  -\n')
})

test('a field of several values needs a column of its own', () => {
  expect(() => showFields(Item, ['tags'], item)).toThrow('tags needs a column of its own')
})
