import { expect, test } from 'vitest'
import { formatFields, formatTable, toPrintable, type Column } from '#apps/ctl/table.ts'

type Row = { name: string; credits: string | null; note: string | null }

const COLUMNS: readonly Column<Row>[] = [
  { title: 'name', cell: ({ name }) => name },
  { title: 'credits', cell: ({ credits }) => credits, align: 'right' },
  { title: 'note', cell: ({ note }) => note },
]

test('columns are as wide as their widest cell, and amounts stand at the right', () => {
  const rows = [
    { name: 'acme', credits: '12.5', note: 'pays' },
    { name: 'a', credits: '1000000000', note: null },
  ]
  expect(formatTable(COLUMNS, rows)).toBe(
    ['name     credits  note', 'acme        12.5  pays', 'a     1000000000  -', ''].join('\n'),
  )
})

test('a column with nothing in any row is left out, a value that is only missing once is not', () => {
  const rows = [{ name: 'acme', credits: null, note: null }]
  expect(formatTable(COLUMNS, rows)).toBe('name\nacme\n')
})

test('a table without rows is empty', () => {
  expect(formatTable(COLUMNS, [])).toBe('')
})

test('an accent is no wider than its letter', () => {
  const rows = [
    { name: 'Amélie', credits: '1', note: null },
    { name: 'Ame\u0301lie', credits: '2', note: null },
    { name: '👩🏽', credits: '3', note: null },
  ]
  expect(formatTable(COLUMNS, rows).split('\n')).toEqual([
    'name    credits',
    'Amélie        1',
    'Ame\u0301lie        2',
    '👩🏽             3',
    '',
  ])
})

test('fields stand beside their names', () => {
  expect(
    formatFields([
      ['id', 'x'],
      ['open holds', 0],
      ['closed', null],
    ]),
  ).toBe('id          x\nopen holds  0\nclosed      -\n')
})

test('a control character is shown as its code', () => {
  expect(toPrintable('a\u001B[2Jb\nc\u202Ed')).toBe(String.raw`a\u{1b}[2Jb\u{a}c\u{202e}d`)
  expect(formatTable(COLUMNS, [{ name: '\u001B]0;x\u0007', credits: null, note: null }])).toBe(
    String.raw`name` + '\n' + String.raw`\u{1b}]0;x\u{7}` + '\n',
  )
})
