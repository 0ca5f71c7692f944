export type Column<Item> = {
  readonly title: string
  /** Null where there is nothing. */
  cell(item: Item): string | number | null
  /** Numbers and amounts stand at the right. */
  readonly align?: 'right'
}

const GAP = '  '
const NOTHING = '-'
const CHARACTERS = new Intl.Segmenter()

/**
 * Lines of aligned columns under their titles, for people. A column with nothing in any row is left out; without rows
 * the text is empty.
 */
export function formatTable<Item>(columns: readonly Column<Item>[], items: readonly Item[]): string {
  if (items.length === 0) return ''
  return columns
    .map(({ title, align, cell }) => ({ title, align, cells: items.map(cell) }))
    .filter(({ cells }) => cells.some((cell) => cell !== null))
    .map(({ title, align, cells }) => alignColumn([title, ...cells.map(toText)], align))
    .reduce((lines, column) => lines.map((line, row) => line + GAP + (column[row] ?? '')))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

/** One line a field: its name, and its value beside it. */
export function formatFields(
  fields: readonly (readonly [name: string, value: string | number | null])[],
): string {
  const names = alignColumn(fields.map(([name]) => name))
  return fields.map(([, value], row) => `${names[row] ?? ''}${GAP}${toText(value)}\n`).join('')
}

/** What a terminal would obey instead of show is shown as its code: names are chosen by others. */
export function toPrintable(text: string): string {
  return text.replaceAll(/\p{C}/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

function toText(cell: string | number | null): string {
  return cell === null || cell === '' ? NOTHING : toPrintable(String(cell))
}

function alignColumn(texts: readonly string[], align?: 'right'): string[] {
  const width = Math.max(...texts.map(lengthOf))
  return texts.map((text) => {
    const space = ' '.repeat(width - lengthOf(text))
    return align === 'right' ? space + text : text + space
  })
}

/** In characters as people count them, not in the units that JavaScript counts. */
function lengthOf(text: string): number {
  return [...CHARACTERS.segment(text)].length
}
