import { html, nothing, type TemplateResult } from 'lit-html'
import { guard } from 'lit-html/directives/guard.js'
import { repeat } from 'lit-html/directives/repeat.js'

export type Column<Row> = {
  readonly name: string
  /** Draws a cell. The first column names the row. */
  cell(row: Row): unknown
  /** If given, the rows can be sorted by this value. */
  sortBy?(row: Row): number | string | bigint
  readonly isNumber?: boolean
  /** A window that is too narrow leaves this column out: `wide` columns first, then `medium` columns. */
  readonly from?: 'medium' | 'wide'
}

export type Sorting = { readonly column: string; readonly isDescending: boolean }

type Table<Row> = {
  /** Names the table's content for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  key(row: Row): string
  /**
   * All values from which a row's cells are drawn. A row is drawn again only if one of them is another object than
   * before.
   */
  drawnFrom?(row: Row): readonly unknown[]
  /** Shown in place of a table without rows. */
  readonly empty: unknown
  readonly sorting?: Sorting | undefined
  onSort?(sorting: Sorting): void
}

/** Draws a table that scrolls sideways within its own frame. */
export function table<Row>(given: Table<Row>): TemplateResult {
  const { caption, columns, rows, key, drawnFrom, empty } = given
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`
  return html`<div class="scroll" role="region" aria-label=${caption} tabindex="0">
    <table>
      <caption class="unseen">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((column) => heading(column, given))}
        </tr>
      </thead>
      <tbody>
        ${repeat(rows, key, (row) =>
          drawnFrom === undefined
            ? tableRow(columns, row)
            : guard([...drawnFrom(row)], () => tableRow(columns, row)),
        )}
      </tbody>
    </table>
  </div>`
}

function tableRow<Row>(columns: readonly Column<Row>[], row: Row): TemplateResult {
  return html`<tr>
    ${columns.map((column, index) =>
      index === 0
        ? html`<th scope="row" class=${classOf(column)}>${column.cell(row)}</th>`
        : html`<td class=${classOf(column)}>${column.cell(row)}</td>`,
    )}
  </tr>`
}

function heading<Row>(column: Column<Row>, { sorting, onSort }: Table<Row>): TemplateResult {
  if (onSort === undefined || column.sortBy === undefined) {
    return html`<th scope="col" class=${classOf(column)}>${column.name}</th>`
  }
  const isSorted = sorting?.column === column.name
  const direction = isSorted ? (sorting.isDescending ? 'descending' : 'ascending') : undefined
  const next = {
    column: column.name,
    isDescending: isSorted ? !sorting.isDescending : column.isNumber === true,
  }
  return html`<th scope="col" class=${classOf(column)} aria-sort=${direction ?? nothing}>
    <button type="button" class="sort" @click=${() => onSort(next)}>
      ${column.name}<span aria-hidden="true">${isSorted ? (sorting.isDescending ? ' ↓' : ' ↑') : ''}</span>
    </button>
  </th>`
}

function classOf({ isNumber, from }: Column<never>): string {
  return `${isNumber === true ? 'number ' : ''}${from ?? ''}`
}

/** Returns the rows in the order that the viewer chose, or unchanged without a choice. */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const column = columns.find(({ name }) => name === sorting?.column)
  const sortBy = column?.sortBy
  if (sorting === undefined || sortBy === undefined) return rows
  const sign = sorting.isDescending ? -1 : 1
  return rows.toSorted((a, b) => sign * compare(sortBy(a), sortBy(b)))
}

function compare(a: number | string | bigint, b: number | string | bigint): number {
  if (typeof a === 'string' && typeof b === 'string') return a.localeCompare(b, 'en', { numeric: true })
  return a < b ? -1 : a > b ? 1 : 0
}
