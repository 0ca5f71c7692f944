/**
 * Snapshots and deltas of a view. The console makes deltas, the page and `millrace top` apply them. This module runs in
 * browsers too, so it imports nothing.
 */

export type Row = { readonly id: string }

/** A view's parts by name: arrays of rows are tables, all other parts are values. */
export type Parts = Readonly<Record<string, unknown>>

/** The event `snapshot`: the whole view. `asOf` is UTC. */
export type Snapshot<View> = { readonly asOf: string; readonly view: View }

/**
 * `changed` has each new row with all its fields, and each changed row with its id and only the changed fields. `gone`
 * has the ids of removed rows.
 */
export type Changes<One extends Row = Row> = {
  readonly changed: readonly (Partial<One> & Row)[]
  readonly gone: readonly string[]
}

/** The event `delta`, sent once a second as one line. Tables and values that did not change are absent. */
export type Delta = {
  readonly asOf: string
  readonly tables: Readonly<Record<string, Changes>>
  readonly values: Readonly<Record<string, unknown>>
}

/** Returns the changes from one state of a view to the next. */
export function toDelta(before: Parts, after: Parts, asOf: string): Delta {
  const tables: Record<string, Changes> = {}
  const values: Record<string, unknown> = {}
  for (const [name, part] of Object.entries(after)) {
    const old = before[name]
    if (isTable(part)) {
      const changes = toChanges(isTable(old) ? old : [], part)
      if (changes.changed.length + changes.gone.length > 0) tables[name] = changes
    } else if (!isEqual(old, part)) {
      values[name] = part
    }
  }
  return { asOf, tables, values }
}

/** Returns the view after a delta. Parts that the delta does not name stay the same objects. */
export function applyDelta<View extends Parts>(view: View, delta: Delta): View {
  const tables = Object.entries(delta.tables).map(([name, changes]) => {
    const rows = view[name]
    return [name, isTable(rows) ? applyChanges(rows, changes) : changes.changed] as const
  })
  return { ...view, ...delta.values, ...Object.fromEntries(tables) }
}

/** New rows come after the old rows, because the viewer sorts the rows. */
function applyChanges(rows: readonly Row[], { changed, gone }: Changes): readonly Row[] {
  const left = new Map(rows.map((row) => [row.id, row]))
  for (const id of gone) left.delete(id)
  for (const row of changed) left.set(row.id, { ...left.get(row.id), ...row })
  return [...left.values()]
}

function toChanges(before: readonly (Parts & Row)[], after: readonly (Parts & Row)[]): Changes {
  const known = new Map(before.map((row) => [row.id, row]))
  const changed: Row[] = []
  for (const row of after) {
    const old = known.get(row.id)
    known.delete(row.id)
    if (old === row) continue
    const difference = old === undefined ? row : changedFields(old, row)
    if (difference !== null) changed.push(difference)
  }
  return { changed, gone: [...known.keys()] }
}

/** Returns null if no field changed. Makes no array per row, because this runs for every row every second. */
function changedFields(before: Parts, after: Parts & Row): Row | null {
  let changed: Record<string, unknown> | null = null
  for (const name of Object.keys(after)) {
    const value = after[name]
    if (isEqual(before[name], value)) continue
    changed ??= {}
    changed[name] = value
  }
  return changed === null ? null : { ...changed, id: after.id }
}

/** An empty array is a table without rows. */
function isTable(part: unknown): part is readonly Row[] {
  return Array.isArray(part) && part.every(isRow)
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
}

/** Compares two JSON values. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length && names.every((name) => name in b && isEqual(a[name], b[name]))
  )
}

function isObject(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null
}
