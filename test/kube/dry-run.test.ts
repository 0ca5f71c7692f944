import { afterAll, beforeAll, expect, test } from 'vitest'
import { CHART, VALUE_SETS, valuesPath } from '../chart/chart-values.ts'
import { HELMS } from '../chart/helm.ts'
import { applyObjects, kubectl, runProgram } from './lab/cluster.ts'

/** Labelled as the chart's README asks. The label `warn` checks Deployments too, whose pods would be refused later. */
const NAMESPACE = 'kube-dry-run'
const LEVELS = ['enforce', 'warn', 'audit'].map((mode) => [
  `pod-security.kubernetes.io/${mode}`,
  'restricted',
])

beforeAll(async () => {
  const metadata = { name: NAMESPACE, labels: Object.fromEntries(LEVELS) }
  await applyObjects({ apiVersion: 'v1', kind: 'Namespace', metadata })
})

afterAll(async () => void (await kubectl(['delete', 'namespace', NAMESPACE, '--wait=false'])))

const CASES = HELMS.flatMap((helm) => VALUE_SETS.map((set) => [helm, set] as const))

test.each(CASES)(
  'the API server accepts what %s renders of the %s values, without a warning',
  async (helm, set) => {
    const { stdout: version } = await runProgram('kubectl', ['version', '-o', 'json'])
    const kubernetes = /"serverVersion"[^}]*"gitVersion": "v([\d.]+)/.exec(version)?.[1] ?? ''
    const place = ['--namespace', NAMESPACE, '--kube-version', kubernetes]
    const rendered = await runProgram(helm, ['template', 'mr', CHART, ...place, '--values', valuesPath(set)])
    const apply = ['apply', '--namespace', NAMESPACE, '--dry-run=server', '--validate=strict', '-f', '-']
    const { stdout, stderr } = await runProgram('kubectl', apply, rendered.stdout)
    expect(stderr).toBe('')
    const objects = stdout.trim().split('\n')
    expect(objects.filter((line) => !line.endsWith('created (server dry run)'))).toEqual([])
    expect(objects.filter((line) => line.startsWith('scaledobject'))).not.toEqual([])
  },
)
