import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { printJson } from '#scripts/print-json.ts'
import { REFUSED_BY_SCHEMA } from '#test/chart/bad-values.ts'
import {
  CHART,
  mergeValues,
  readDefaults,
  readValues,
  VALUE_SETS,
  valuesPath,
  type Values,
} from '#test/chart/chart-values.ts'
import { listValueNames } from '#test/chart/value-names.ts'

const Schema = z.record(z.string(), z.unknown())
const SCHEMA_FILE = join(CHART, 'values.schema.json')
const schema = Schema.parse(JSON.parse(readFileSync(SCHEMA_FILE, 'utf8')))
// The schema has union types where Kubernetes takes a number or a text.
const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema)

/** Returns the problems of values. Like Helm, it merges them into the chart's values before the check. */
function problemsOf(values: Values): string[] {
  if (validate(mergeValues(readDefaults(), values))) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`)
}

test('the schema has one field a line (npm test -- test/architecture/chart-values -u)', async () => {
  const opened = new Set<object>()
  addOpened(schema, opened)
  await expect(printJson(schema, (part) => opened.has(part))).toMatchFileSnapshot(SCHEMA_FILE)
})

test('the chart knows the names of its values (npm test -- test/architecture/chart-values -u)', async () => {
  const file = join(CHART, 'files/value-names.txt')
  await expect(`${listValueNames().join('\n')}\n`).toMatchFileSnapshot(file)
})

test.each(VALUE_SETS)('the schema accepts the value set %s', (set) => {
  expect(problemsOf(readValues(valuesPath(set)))).toEqual([])
})

test.each(REFUSED_BY_SCHEMA)('the schema refuses $problem and names the field', ({ values, message }) => {
  expect(problemsOf(values).join('\n')).toContain(message)
})

test('every object of the schema is closed or of one kind, and every field has a description', () => {
  const objects: string[] = []
  const fields: string[] = []
  visit(schema, '', { objects, fields })
  expect(fields.length).toBeGreaterThan(150)
  expect(objects).toEqual([])
  expect(fields.filter((field) => field.endsWith(' undescribed'))).toEqual([])
})

test('the default values are one page that names every part of the schema', () => {
  const text = readFileSync(join(CHART, 'values.yaml'), 'utf8')
  expect(text.split('\n').length).toBeLessThan(120)
  const parts = Object.keys(Schema.parse(schema['properties']))
  expect(Object.keys(readDefaults()).toSorted()).toEqual(parts.filter((part) => part !== 'global').toSorted())
})

/** Adds to `opened` every list of fields, and every part that contains one. Returns true if it added `part`. */
function addOpened(part: unknown, opened: Set<object>): boolean {
  if (typeof part !== 'object' || part === null) return false
  const added = Object.entries(part).map(([name, value]: [string, unknown]) => {
    const isList = ['properties', 'definitions'].includes(name)
    if (isList && typeof value === 'object' && value !== null) opened.add(value)
    return addOpened(value, opened) || isList
  })
  if (added.includes(true)) opened.add(part)
  return added.includes(true)
}

/** Collects objects that would accept any field, except those of Kubernetes, and fields without a description. */
function visit(node: unknown, path: string, found: { objects: string[]; fields: string[] }): void {
  const parsed = Schema.safeParse(node)
  if (!parsed.success || Array.isArray(node)) return
  const { properties, additionalProperties, definitions, items, type } = parsed.data
  const isForeign = ['/kubernetes', '/global'].includes(path)
  if (type === 'object' && additionalProperties === undefined && !isForeign) found.objects.push(path)
  if (properties !== undefined && additionalProperties !== false) found.objects.push(path)
  for (const [name, field] of Object.entries(Schema.parse(properties ?? {}))) {
    const isDescribed = Schema.parse(field)['description'] !== undefined
    found.fields.push(`${path}/${name}${isDescribed ? '' : ' undescribed'}`)
    visit(field, `${path}/${name}`, found)
  }
  for (const [name, definition] of Object.entries(Schema.parse(definitions ?? {}))) {
    visit(definition, `/${name}`, found)
  }
  visit(items, `${path}/*`, found)
  visit(additionalProperties, `${path}/*`, found)
}
