import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { CHART, mergeValues, type Values } from '../chart/chart-values.ts'
import { HELMS } from '../chart/helm.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { until } from '../support/until.ts'
import { connectCluster, kubectl, runProgram } from './lab/cluster.ts'
import { BASE, modelValues, poolName, RELEASE } from './release-values.ts'
import { watchNamespace, type ClusterWatch } from './watch-cluster.ts'

// Scaling is switched on in a release that was installed without it. No scaler answers, so KEDA changes nothing: each
// change of a number of replicas comes from Helm, or from a test in the HPA's place.

const GATEWAY = `${RELEASE}-gateway`
const POOL = poolName('alpha')

const fixed = mergeValues(BASE, {
  scaler: { enabled: false },
  gateway: { replicas: { min: 4, max: 4 } },
  models: { alpha: modelValues({ scale: { min: 3, max: 3 } }) },
})
const scaled = mergeValues(fixed, {
  scaler: { enabled: true, address: '127.0.0.1:1' },
  gateway: { replicas: { max: 9 } },
  models: { alpha: { scale: { min: 1, max: 6 } } },
})

let close: (() => Promise<void>) | null = null

afterEach(async () => {
  await close?.()
  close = null
})

async function openNamespace(): Promise<{ inNamespace: readonly string[]; watch: ClusterWatch }> {
  const namespace = `kube-${randomUUID().slice(0, 8)}`
  await kubectl(['create', 'namespace', namespace])
  const client = connectCluster()
  const watch = watchNamespace({ client, namespace, onPods: () => {} })
  close = async () => {
    await watch.stop()
    client.close()
    await kubectl(['delete', 'namespace', namespace, '--wait=false'])
  }
  return { inNamespace: ['--namespace', namespace], watch }
}

function toFile(values: Values): string {
  const file = join(scratchFolder('values'), 'values.yaml')
  writeFileSync(file, stringify(values))
  return file
}

const numbersOf = (watch: ClusterWatch) => [watch.replicas(GATEWAY), watch.replicas(POOL)]
const changesOf = (watch: ClusterWatch) =>
  watch.rescales.map(({ deployment, from, to }) => [deployment, from, to])

test.each(HELMS)('%s: an upgrade that switches scaling on keeps the numbers of replicas', async (helm) => {
  const { inNamespace, watch } = await openNamespace()
  const upgrade = async (values: Values) =>
    void (await runProgram(helm, [
      'upgrade',
      '--install',
      RELEASE,
      CHART,
      ...inNamespace,
      '--values',
      toFile(values),
    ]))
  const scale = async (deployment: string, replicas: number) =>
    await kubectl(['scale', 'deployment', deployment, `--replicas=${replicas}`, ...inNamespace])
  const namesNumbers = async () =>
    (await runProgram(helm, ['get', 'manifest', RELEASE, ...inNamespace])).stdout.match(
      /millrace\/replicas: named/g,
    )?.length ?? 0

  await upgrade(fixed)
  await until(async () => watch.pods(POOL).length === 3)
  const pods = () =>
    watch
      .pods(POOL)
      .map(({ metadata }) => metadata.uid)
      .toSorted()
  const before = pods()
  expect([numbersOf(watch), await namesNumbers()]).toEqual([[4, 3], 2])

  await upgrade(scaled)
  await upgrade(scaled)
  expect([numbersOf(watch), changesOf(watch), pods()]).toEqual([[4, 3], [], before])

  // The test changes the numbers as an HPA does.
  await scale(GATEWAY, 7)
  await scale(POOL, 5)
  await until(async () => watch.pods(POOL).length === 5)
  await upgrade(scaled)
  await upgrade(mergeValues(scaled, { logLevel: 'debug' }))
  expect(numbersOf(watch)).toEqual([7, 5])
  // With a server-side apply the number has another owner, and the manifest need not name it any more.
  expect(await namesNumbers()).toBe(helm === 'helm' ? 0 : 2)
  expect(changesOf(watch)).toEqual([
    [GATEWAY, 4, 7],
    [POOL, 3, 5],
  ])
})

test('tools without a look into the cluster keep the number by `keep`, and hand it over', async () => {
  const { inNamespace, watch } = await openNamespace()
  const apply = async (values: Values) => {
    const rendered = await runProgram('helm', [
      'template',
      RELEASE,
      CHART,
      '--no-hooks',
      ...inNamespace,
      '--values',
      toFile(values),
    ])
    const args = ['apply', '--server-side', '--field-manager=gitops', ...inNamespace, '-f', '-']
    await kubectl(args, rendered.stdout)
  }
  await apply(fixed)
  await until(async () => watch.replicas(POOL) === 3)
  const kept = { gateway: { replicas: { keep: 4 } }, models: { alpha: { scale: { keep: 3 } } } }
  await apply(mergeValues(scaled, kept))
  expect([numbersOf(watch), changesOf(watch)]).toEqual([[4, 3], []])

  for (const name of [GATEWAY, POOL]) {
    const replicas = watch.replicas(name)
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: { replicas } }
    const args = ['apply', '--server-side', '--field-manager=scaling', ...inNamespace, '-f', '-']
    await kubectl(args, JSON.stringify(object))
  }
  await apply(scaled)
  expect([numbersOf(watch), changesOf(watch)]).toEqual([[4, 3], []])
})

test('a new release with `keep` begins with that number', async () => {
  const { inNamespace, watch } = await openNamespace()
  const values = mergeValues(scaled, { models: { alpha: { scale: { keep: 2 } } } })
  await runProgram('helm', ['install', RELEASE, CHART, ...inNamespace, '--values', toFile(values)])
  await until(async () => watch.pods(POOL).length === 2)
  expect(numbersOf(watch)).toEqual([1, 2])
})
