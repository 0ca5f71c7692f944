export type Column<Item> = {
  readonly title: string
  /** Returns the content of a cell; null: the cell is empty. */
  cell(item: Item): string | number | null
  /** Numbers and amounts are aligned to the right. */
  readonly align?: 'right'
}

const GAP = '  '
const NOTHING = '-'
const CHARACTERS = new Intl.Segmenter()

/**
 * Formats items as lines of aligned columns under their titles. A column that is empty in every row is left out.
 * Without items the text is empty.
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

/** Formats each field as one line with name and value. */
export function formatFields(
  fields: readonly (readonly [name: string, value: string | number | null])[],
): string {
  const names = alignColumn(fields.map(([name]) => name))
  return fields.map(([, value], row) => `${names[row] ?? ''}${GAP}${toText(value)}\n`).join('')
}

/** Replaces control characters by their codes: names come from customers, and a terminal would obey the characters. */
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

/** Returns the length in user-perceived characters. */
function lengthOf(text: string): number {
  return [...CHARACTERS.segment(text)].length
}
