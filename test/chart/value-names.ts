import { readDefaults } from './chart-values.ts'

/**
 * Returns the names of all values that the chart itself sets, such as `gateway.service.type`. A value within
 * `resources` is left out, because null is a usual way to take it away.
 */
export const listValueNames = (): string[] => namesIn(readDefaults(), '')

function namesIn(values: object, prefix: string): string[] {
  return Object.entries(values).flatMap(([key, value]: [string, unknown]) => {
    const name = prefix + key
    if (value === null) return []
    const isMap = typeof value === 'object' && !Array.isArray(value) && key !== 'resources'
    return isMap && Object.keys(value).length > 0 ? namesIn(value, `${name}.`) : [name]
  })
}
