import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'

export const CHART = fileURLToPath(new URL('../../deploy/helm/millrace', import.meta.url))

/** The value sets in `ci/`, by the first part of the file's name. */
export const VALUE_SETS = [
  'minimal',
  'dev',
  'production',
  'sentinel',
  'cluster',
  'many-models',
  'openshift',
] as const
export type ValueSet = (typeof VALUE_SETS)[number]

const Values = z.record(z.string(), z.unknown())
export type Values = z.infer<typeof Values>

export const valuesPath = (set: ValueSet): string => join(CHART, 'ci', `${set}-values.yaml`)

/** Returns the chart's own values, into which a user's values are merged. */
export const readDefaults = (): Values => readValues(join(CHART, 'values.yaml'))

export function readValues(path: string): Values {
  return Values.parse(parse(readFileSync(path, 'utf8')))
}

/** Merges values as Helm does: maps field by field, everything else as a whole; null removes a field. */
export function mergeValues(base: Values, over: Values): Values {
  const merged = { ...base }
  for (const [name, value] of Object.entries(over)) {
    const map = Values.safeParse(value)
    if (value === null) delete merged[name]
    else merged[name] = map.success ? mergeValues(Values.safeParse(merged[name]).data ?? {}, map.data) : value
  }
  return merged
}
