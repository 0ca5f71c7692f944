import { html, nothing, type TemplateResult } from 'lit-html'
import type { PageApp } from '#libs/page-parts/page-app.ts'
import { sortRows, table, type Column, type Sorting } from '#libs/page-parts/table.ts'
import { createSteadyOrder } from './steady-order.ts'

/** Each row that changes is drawn each second, so only the first rows are shown until the viewer asks for all. */
const FIRST_ROWS = 50

type Shown<Row> = {
  /** Names the table's content for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** All values from which a row's cells are drawn. */
  drawnFrom(row: Row): readonly unknown[]
  /** Shown in place of a table without rows. */
  readonly empty: unknown
}

export type LiveTable<Row> = { view(shown: Shown<Row>): TemplateResult }

/**
 * Creates a table whose rows change each second. The rows are in the order that the viewer has chosen, else in the
 * order of `byTrouble`. When the viewer chooses an order, the rows are ordered at once. Otherwise they are ordered
 * again at most every 10 s, and not while the pointer is over the table. The first fifty rows are drawn until the
 * viewer asks for all.
 */
export function createLiveTable<Row extends { readonly id: string }>(
  app: Pick<PageApp, 'redraw'>,
  byTrouble: (rows: readonly Row[]) => readonly Row[],
): LiveTable<Row> {
  const steady = createSteadyOrder()
  let sorting: Sorting | undefined
  let isWhole = false

  function showAll() {
    isWhole = true
    app.redraw()
  }

  return {
    view({ columns, rows, ...shown }) {
      const ordered = steady.order(rows, {
        choice: JSON.stringify(sorting ?? null),
        sort: (all) => (sorting === undefined ? byTrouble(all) : sortRows(all, columns, sorting)),
      })
      const drawn = isWhole ? ordered : ordered.slice(0, FIRST_ROWS)
      return html`<div
          @pointerenter=${() => steady.setPointed(true)}
          @pointerleave=${() => steady.setPointed(false)}
        >
          ${table({
            ...shown,
            columns,
            rows: drawn,
            key: ({ id }) => id,
            sorting,
            onSort(chosen) {
              sorting = chosen
              app.redraw()
            },
          })}
        </div>
        ${
          drawn.length === ordered.length
            ? nothing
            : html`<p class="more">
                The first ${drawn.length} of ${ordered.length}.
                <button type="button" class="quiet" @click=${showAll}>Show all</button>
              </p>`
        }`
    },
  }
}
