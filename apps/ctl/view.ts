import { z } from 'zod'
import { toCredits, toTime, toYesNo } from './cells.ts'
import { describeField } from './describe-field.ts'
import { toTitle } from './field-words.ts'
import { formatFields, formatTable, type Column } from './table.ts'

type NameOf<Item> = Extract<keyof Item, string>

/** A part of a view: a field whose title is made from its name, a field with another title, or any other column. */
export type Shown<Item> = NameOf<Item> | readonly [name: NameOf<Item>, title: string] | Column<Item>

/** Formats items, each of which has the fields of `schema`, as a table. */
export function showTable<Item>(
  schema: z.ZodType,
  shown: readonly Shown<Item>[],
  items: readonly Item[],
): string {
  return formatTable(toColumns(schema, shown), items)
}

/** Formats one item with the fields of `schema`: a line for each part of the view. */
export function showFields<Item>(schema: z.ZodType, shown: readonly Shown<Item>[], item: Item): string {
  return formatFields(toColumns(schema, shown).map(({ title, cell }) => [title, cell(item)]))
}

/** Adds the secret of a new item to its fields. */
export function showSecret(fields: string, kind: 'secret' | 'token', secret: string): string {
  return `${fields}\n${secret}\nThis is its ${kind}. It is shown only once.\n`
}

function toColumns<Item>(schema: z.ZodType, shown: readonly Shown<Item>[]): Column<Item>[] {
  if (!(schema instanceof z.ZodObject)) throw new Error('only an object has fields')
  return shown.map((part) => {
    if (typeof part === 'object' && 'cell' in part) return part
    const [name, title] = typeof part === 'string' ? [part, toTitle(part)] : part
    const { type, format } = describeField(schema.shape[name])
    const isNumber = type === 'integer' || type === 'number' || format === 'int64' || isAmount(name)
    return {
      title,
      cell: (item: Item) => toCell(name, format, item[name]),
      ...(isNumber && { align: 'right' as const }),
    }
  })
}

function toCell(name: string, format: string | undefined, value: unknown): string | number | null {
  if (value === null || typeof value === 'number') return value
  if (typeof value === 'boolean') return toYesNo(value)
  if (typeof value !== 'string') throw new Error(`${name} needs a column of its own`)
  if (isAmount(name)) return toCredits(value)
  return format === 'date-time' ? toTime(value) : value
}

/** The name of a field with an amount ends with the unit. */
function isAmount(name: string): boolean {
  return name.endsWith('Nano')
}
