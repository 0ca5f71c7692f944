// `npm run test:node`: tests the Helm chart on a real node with KEDA. It builds the image with Docker, and starts a
// control plane with one node with the scripts up.sh and load.sh of the folder KUBE_NODE, from the programs in
// KUBE_LAB_BIN. It loads the image and the images of the dev servers, and runs the tests in the node's namespaces with
// in.sh. down.sh ends everything. Without root, the programs, or a Docker engine with redis:7 and postgres:18 it ends
// with status 3, which is not a pass. Arguments are Vitest's. KUBE_NODE_STATE names a lab that runs already.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkPlatform, ensureDependencies } from './bootstrap/dependencies.mjs'
import { REPOSITORY } from './bootstrap/repository.mjs'
import { runScript, SetupError } from './bootstrap/fail.mjs'
import { labPrograms, missingIn, refuse } from './bootstrap/lab.mjs'
import { say } from './bootstrap/progress.mjs'
import { runAndCount } from './bootstrap/run-tests.mjs'

const SCRIPTS = ['up.sh', 'in.sh', 'load.sh', 'down.sh']
const PROGRAMS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
  'keda-operator',
  'keda-adapter',
  'keda-webhooks',
  'kubelet',
  'kube-proxy',
  'coredns',
  'pause',
  'kubectl',
  'helm',
  'debian/usr/bin/containerd',
  'debian/usr/sbin/runc',
  'debian/usr/sbin/nft',
]
/** The images of the dev values and of the tests' servers, which are not built here. */
const SERVER_IMAGES = ['redis:7', 'postgres:18']
/** A name for the image that no registry can contain. */
const IMAGE = `registry.invalid/millrace:test-${process.pid}`
/**
 * Settings of the lab. Everything runs on the real node, which has GPUs for the simulated engines of the production
 * values.
 */
const LAB = { KUBE_NODE_TAINT: '0', KUBE_LAB_CPU_NODES: '0', KUBE_LAB_GPU_NODES: '0', KUBE_NODE_GPUS: '16' }

let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (interrupted = true))

await runScript(async () => {
  const scripts = process.env.KUBE_NODE
  if (scripts === undefined)
    return refuse(
      'test:node',
      'KUBE_NODE is not set: it names the folder of up.sh, in.sh, load.sh and down.sh',
    )
  const programs = labPrograms()
  const missing = [...missingIn(scripts, SCRIPTS), ...missingIn(programs, PROGRAMS)]
  if (missing.length > 0) return refuse('test:node', `these programs are missing: ${missing.join(', ')}`)
  if (process.getuid() !== 0) return refuse('test:node', 'a node needs root')
  const problem = run('docker', ['image', 'inspect', ...SERVER_IMAGES], { stdio: 'pipe' })
  if (problem !== undefined)
    return refuse('test:node', `it needs a Docker engine that has ${SERVER_IMAGES.join(' and ')}: ${problem}`)
  checkPlatform()
  await ensureDependencies({ dev: true })
  process.env.KUBE_LAB_BIN = programs
  process.env.MILLRACE_TEST_IMAGE = IMAGE
  const given = process.env.KUBE_NODE_STATE
  const state = given ?? mkdtempSync(join(tmpdir(), 'millrace-node-'))
  try {
    say('the image; the build takes minutes')
    step('docker', ['build', '--quiet', '--file', 'deploy/Dockerfile', '--tag', IMAGE, '.'])
    if (given === undefined) step(join(scripts, 'up.sh'), [state], LAB)
    say('the image onto the node')
    const load = 'docker save "$@" | "$LOAD" "$STATE"'
    const names = ['load', IMAGE, ...SERVER_IMAGES]
    step('bash', ['-o', 'pipefail', '-c', load, ...names], { LOAD: join(scripts, 'load.sh'), STATE: state })
    const options = ['--project', 'node', ...process.argv.slice(2)]
    return await runAndCount(options, [join(scripts, 'in.sh'), state])
  } finally {
    run('docker', ['image', 'rm', IMAGE], { stdio: 'ignore' })
    if (given === undefined) {
      const left = run(join(scripts, 'down.sh'), [state])
      if (left === undefined) rmSync(state, { recursive: true, force: true })
      else console.error(`not ended: ${state}: ${left}`)
    }
  }
})

/** Runs a program in this terminal. Throws a SetupError if it fails, or if the user has interrupted. */
function step(program, args, env = {}) {
  const problem = interrupted
    ? 'interrupted'
    : run(program, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  if (problem !== undefined) throw new SetupError(`test:node: ${problem}`)
}

/** Returns why a program failed, or undefined. */
function run(program, args, options = {}) {
  const { error, status, stderr } = spawnSync(program, args, {
    cwd: REPOSITORY,
    encoding: 'utf8',
    ...options,
  })
  if (status === 0) return undefined
  return error?.message ?? (stderr?.trim().split('\n').at(-1) || `${program} ${args[0]} ended with ${status}`)
}
