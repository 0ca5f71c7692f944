import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseAllDocuments, stringify } from 'yaml'
import { z } from 'zod'
import { CHART, readValues, valuesPath, type Values, type ValueSet } from './chart-values.ts'

const run = promisify(execFile)

/** The major versions of Helm that users have: 4 and 3. */
export const HELMS = ['helm', 'helm3'] as const
export type Helm = (typeof HELMS)[number]

/** The name of the release; the names of its objects begin with it. */
export const RELEASE = 'mr'
const NAMESPACE = 'serving'
/** A fixed version of Kubernetes, so that the output does not depend on a cluster. */
const KUBERNETES = '1.36.0'

const KubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
})
export type KubeObject = z.infer<typeof KubeObject>

/** Runs a Helm and returns its standard output. Rejects with Helm's messages. */
export async function runHelm(helm: Helm, args: readonly string[]): Promise<string> {
  const folder = process.env['KUBE_LAB_BIN'] ?? join(homedir(), '.cache/kube-lab')
  const { stdout } = await run(join(folder, helm), args, { maxBuffer: 64 * 1024 * 1024, timeout: 60_000 })
  return stdout
}

/** Writes values to a temporary file, passes its path to `use`, and deletes the file afterwards. */
export async function onValues<Result>(
  values: Values,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-chart-'))
  try {
    const path = join(folder, 'values.yaml')
    writeFileSync(path, stringify(values))
    return await use(path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the objects that a Helm renders from these values, by kind and name. */
export async function renderValues(
  values: Values,
  {
    helm = 'helm',
    kubernetes = KUBERNETES,
    more = [],
  }: { helm?: Helm; kubernetes?: string; more?: readonly string[] } = {},
): Promise<KubeObject[]> {
  const place = [CHART, '--namespace', NAMESPACE, '--kube-version', kubernetes, ...more]
  const output = await onValues(
    values,
    async (path) => await runHelm(helm, ['template', RELEASE, ...place, '--values', path]),
  )
  // kubectl reads numbers like YAML 1.1, which has octal file modes; the parser must do the same.
  const objects = parseAllDocuments(output, { version: '1.1', merge: false })
    .map((document): unknown => {
      if (document.errors[0] !== undefined) throw document.errors[0]
      return document.toJS()
    })
    .filter((content) => content !== null)
    .map((content) => KubeObject.parse(content))
  return objects.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

const rendered = new Map<string, Promise<KubeObject[]>>()

/** Returns the objects of one of the chart's value sets, which is rendered only once. */
export async function renderSet(set: ValueSet, helm: Helm = 'helm'): Promise<KubeObject[]> {
  const key = `${helm} ${set}`
  const objects = rendered.get(key) ?? renderValues(readValues(valuesPath(set)), { helm })
  rendered.set(key, objects)
  return await objects
}

/** Returns the kind and the name of an object, such as `Deployment/mr-gateway`. */
export const nameOf = ({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>): string =>
  `${kind}/${metadata.name}`

export const ofKind = (objects: readonly KubeObject[], kind: string): KubeObject[] =>
  objects.filter((object) => object.kind === kind)
