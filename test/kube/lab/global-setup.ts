// Runs once in Vitest's main process. Starts the control plane and makes an administrator's token for the tests.
// KUBE_LAB_STATE names a lab that already runs; then the tests use it and leave it running.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratchFolder } from '../../support/run-folder.ts'
import { applyObjects, kubectl, TOKEN_VARIABLE } from './cluster.ts'

/** A start on a busy machine takes half a minute. */
const START_LIMIT_MS = 300_000
const STOP_LIMIT_MS = 60_000

let release: () => void = () => {}

export async function setup(): Promise<void> {
  if (process.env['KUBE_LAB_STATE'] === undefined) {
    const scripts = process.env['KUBE_LAB']
    if (scripts === undefined) throw new Error('KUBE_LAB is not set: start these tests by npm run test:kube')
    const state = scratchFolder('kube-lab')
    execFileSync(join(scripts, 'up.sh'), [state], { stdio: 'inherit', timeout: START_LIMIT_MS })
    process.env['KUBE_LAB_STATE'] = state
    release = () =>
      execFileSync(join(scripts, 'down.sh'), [state], { stdio: 'inherit', timeout: STOP_LIMIT_MS })
  }
  const tokenFile = join(scratchFolder('admin'), 'token')
  writeFileSync(tokenFile, await createAdminToken(), { mode: 0o600 })
  process.env[TOKEN_VARIABLE] = tokenFile
}

export function teardown(): void {
  release()
}

async function createAdminToken(): Promise<string> {
  const [name, namespace] = ['millrace-tests', 'kube-system']
  const group = 'rbac.authorization.k8s.io'
  await applyObjects(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  )
  return await kubectl(['create', 'token', name, '--namespace', namespace, '--duration', '12h'])
}
