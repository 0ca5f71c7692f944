import { AssertionError } from 'node:assert'

/**
 * Throws an error whose message is a table of the fields that differ, unless the values are equal. A field is named by
 * its path, such as `structure.choices.0.finishReason`.
 */
export function expectRecorded(actual: unknown, recorded: unknown): void {
  const [own, wanted] = [flatten(actual), flatten(recorded)]
  const fields = Array.from(new Set([...wanted.keys(), ...own.keys()]))
  const rows = fields
    .filter((field) => own.get(field) !== wanted.get(field))
    .map((field) => [field, wanted.get(field) ?? '–', own.get(field) ?? '–'])
  if (rows.length > 0) throw new AssertionError({ message: toTable(['field', 'recorded', 'engine'], rows) })
}

/** Returns the table as text, with columns of equal width. */
function toTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const cut = (cell: string) => (cell.length > MOST_WIDTH ? `${cell.slice(0, MOST_WIDTH - 1)}…` : cell)
  const lines = [titles, ...rows].map((cells) => cells.map(cut))
  const widths = titles.map((_, at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)))
  return lines.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n')
}

const MOST_WIDTH = 70

/** Returns the text of each member that is not an object with members, by its path. */
function flatten(value: unknown, path = ''): Map<string, string> {
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : []
  if (members.length === 0) return new Map([[path, JSON.stringify(value) ?? 'undefined']])
  return new Map(
    members.flatMap(([key, member]) => [...flatten(member, path === '' ? key : `${path}.${key}`)]),
  )
}
