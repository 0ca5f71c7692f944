import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { scratchFolder } from '../support/run-folder.ts'
import { until } from '../support/until.ts'
import { clusterPlace, kubectl } from './lab/cluster.ts'
import { modelValues, poolName } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
let kubeconfig: string

beforeAll(async () => {
  stage = await openStage({ models: { alpha: modelValues({ scale: { min: 1 } }) } })
  await until(async () => stage.watch.pods(poolName('alpha')).length === 1, 120_000)
  const { url, caFile } = clusterPlace()
  kubeconfig = join(scratchFolder('rights'), 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'lab', cluster: { server: url, 'certificate-authority': caFile } }],
    users: [{ name: 'scaler', user: { token: readFileSync(stage.tokenFile, 'utf8') } }],
    contexts: [{ name: 'scaler', context: { cluster: 'lab', user: 'scaler' } }],
    'current-context': 'scaler',
  }
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
})

afterAll(async () => await stage.close())

/** Runs kubectl with the scaler's token. Returns "ok", "forbidden", or another message. */
async function attempt(...args: string[]): Promise<string> {
  try {
    await kubectl([...args, '--kubeconfig', kubeconfig])
    return 'ok'
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return /is forbidden|\(Forbidden\)/.test(text) ? 'forbidden' : text
  }
}

const here = () => ['--namespace', stage.namespace]
const podName = () => stage.watch.pods(poolName('alpha'))[0]?.metadata.name ?? ''
const COST = 'controller.kubernetes.io/pod-deletion-cost=-1'

test("the scaler's token reads pods, Deployments and ScaledObjects, and annotates pods", async () => {
  for (const kind of ['pods', 'deployments.apps', 'scaledobjects.keda.sh']) {
    expect(await attempt('get', kind, ...here())).toBe('ok')
  }
  expect(await attempt('annotate', 'pod', podName(), COST, '--dry-run=server', ...here())).toBe('ok')
})

test("the scaler's token may nothing else", async () => {
  const dry = '--dry-run=server'
  const attempts = [
    ['get', 'secrets', ...here()],
    ['get', 'configmaps', ...here()],
    ['get', 'nodes'],
    ['get', 'pods', '--namespace', 'default'],
    ['get', 'pods', '--all-namespaces'],
    ['delete', 'pod', podName(), dry, ...here()],
    ['delete', 'deployment', poolName('alpha'), dry, ...here()],
    ['scale', 'deployment', poolName('alpha'), '--replicas=3', dry, ...here()],
    ['annotate', 'deployment', poolName('alpha'), 'a=b', dry, ...here()],
    ['annotate', 'scaledobject', poolName('alpha'), 'a=b', dry, ...here()],
    ['create', 'configmap', 'own', dry, ...here()],
    ['create', 'token', 'default', ...here()],
  ]
  const answers: [string, string][] = []
  for (const args of attempts) answers.push([args.slice(0, 2).join(' '), await attempt(...args)])
  expect(answers).toEqual(attempts.map((args) => [args.slice(0, 2).join(' '), 'forbidden']))
})
