import { html, nothing, type TemplateResult } from 'lit-html'
import type { PageApp } from '#libs/page-parts/page-app.ts'
import { sortRows, table, type Column, type Sorting } from '#libs/page-parts/table.ts'
import { createSteadyOrder } from './steady-order.ts'

/** More rows are more than a person watches, and each that changes is drawn each second: the others come when asked for. */
const FIRST_ROWS = 50

type Shown<Row> = {
  /** What the table lists; read by screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** All that the cells of a row are made of. */
  drawnFrom(row: Row): readonly unknown[]
  /** In place of a table without rows. */
  readonly empty: unknown
}

export type LiveTable<Row> = { view(shown: Shown<Row>): TemplateResult }

/**
 * A table whose rows change each second: in the order that the viewer chose, else in that of `byTrouble`, which stands
 * still while the pointer is over it. The first fifty rows are drawn until the viewer asks for all.
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
