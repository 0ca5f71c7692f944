import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Document, visit } from 'yaml'
import { z } from 'zod'
import { CHART } from './chart-values.ts'
import type { KubeObject } from './helm.ts'

/** Collections that are longer than this have a line for each of their entries. */
const LINE_LENGTH = 120

/** The names of the chart's files by their text. */
const FILES = new Map(
  globSync(join(CHART, 'files/**/*.mjs')).map((path) => [readFileSync(path, 'utf8').trim(), basename(path)]),
)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  z.record(z.string(), z.unknown()).safeParse(value).success

/**
 * Returns the golden text of the objects: YAML in which a change of a template is a change of few lines. Short
 * collections and sets of labels take one line, JSON in a ConfigMap is part of the YAML, and a file that the chart
 * includes as it is has only its name. Alerts and dashboards are left out, because they have tests of their own, and so
 * are the values of Secrets, which every rendering generates anew.
 */
export function toGolden(objects: readonly KubeObject[]): string {
  return objects
    .filter((object) => !isIncluded(object))
    .map(toYaml)
    .join('---\n')
}

const isIncluded = ({ kind, metadata }: KubeObject): boolean =>
  kind === 'PrometheusRule' || metadata.name.includes('-dashboard-')

function toYaml({ data, ...rest }: KubeObject): string {
  const keys = Object.keys(Object(data)).toSorted()
  const shown = toShort(rest.kind === 'Secret' ? { ...rest, data: keys } : { ...rest, data })
  const document = new Document(shown, { sortMapEntries: true, aliasDuplicateObjects: false })
  visit(document, {
    Collection(_, node, path) {
      const text = JSON.stringify(node.toJS(document))
      node.flow = path.length > 1 && text.length <= LINE_LENGTH && !text.includes(String.raw`\n`)
    },
  })
  return document.toString({ lineWidth: 0 })
}

/** Returns a value of an object as its golden text has it; `name` is the name of the field. */
function toShort(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return toShortText(value)
  if (Array.isArray(value)) return value.map((entry) => toShort(entry))
  if (!isRecord(value)) return value
  if (name === 'labels' || name === 'matchLabels') return toSelector(value)
  const fields = Object.entries(value).filter(([field, of]) => field !== 'annotations' || !isEmpty(of))
  return Object.fromEntries(fields.map(([field, of]) => [field, toShort(of, field)]))
}

function toShortText(text: string): unknown {
  const file = FILES.get(text.trim())
  if (file !== undefined) return `the file ${file}`
  return text.startsWith('{') ? toShort(JSON.parse(text)) : text
}

const isEmpty = (value: unknown): boolean => Object.keys(Object(value)).length === 0

/** Returns the labels as a selector of kubectl has them. */
function toSelector(labels: Readonly<Record<string, unknown>>): string {
  return Object.entries(labels)
    .map(([label, value]) => `${label}=${String(value)}`)
    .toSorted()
    .join(',')
}
