import type { CatalogChange } from '#libs/admin-contract/resources/catalog.ts'
import { toCredits } from '../cells.ts'
import { toPrintable } from '../table.ts'

/**
 * Returns a block of lines for each model. The block begins with `+` for a new model, with `-` for a model whose only
 * change is that it gets disabled, and with `~` for any other model.
 */
export function formatChanges(changes: readonly CatalogChange[]): string {
  const byModel = Map.groupBy(changes, ({ model }) => model)
  return [...byModel].map(([model, ofModel]) => formatModel(model, ofModel)).join('')
}

function formatModel(model: string, changes: readonly CatalogChange[]): string {
  const isNew = changes.some(({ field, before }) => field === 'enabled' && before === null)
  const [first] = changes
  const isDisabled = changes.length === 1 && first?.field === 'enabled' && first.after === false
  const sign = isNew ? '+' : isDisabled ? '-' : '~'
  const width = Math.max(...changes.map(({ field }) => nameOf(field).length))
  const lines = changes.map(({ field, before, after }) => {
    const [old, next] = [toValue(field, before), toValue(field, after)]
    return `    ${nameOf(field).padEnd(width)}  ${isNew ? next : `${old} → ${next}`}\n`
  })
  return `${sign} ${toPrintable(model)}\n${lines.join('')}`
}

function nameOf(field: string): string {
  return toPrintable(field.replace(/Nano$/, ''))
}

function toValue(field: string, value: unknown): string {
  if (value === null) return 'none'
  if (field.endsWith('Nano') && typeof value === 'string' && /^\d+$/.test(value)) return toCredits(value)
  return toPrintable(typeof value === 'string' ? value : JSON.stringify(value))
}
