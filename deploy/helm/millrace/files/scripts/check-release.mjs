// `helm test`: every pod of the release is ready, its Jobs are complete, and KEDA accepts its ScaledObjects.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const LIMIT_MS = 300_000
const { NAMESPACE, RELEASE, KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
const token = readFileSync('/var/run/secrets/kubernetes.io/serviceaccount/token', 'utf8')
const isScaled = process.env.SCALED === 'true'

for (const giveUpAtMs = performance.now() + LIMIT_MS; ; await sleep(2_000)) {
  let problems
  try {
    problems = await findProblems()
  } catch (error) {
    problems = [`the API server: ${error.cause?.message ?? error.message}`]
  }
  if (problems.length === 0) break
  if (performance.now() < giveUpAtMs) continue
  console.error(problems.join('\n'))
  process.exit(1)
}
console.log('every pod is ready')

async function findProblems() {
  const problems = []
  const pods = (await list('/api/v1', 'pods')).filter(
    ({ metadata, status }) => metadata.deletionTimestamp === undefined && status.phase !== 'Succeeded' && !isTool(metadata),
  )
  for (const component of ['gateway', 'billing']) {
    if (!pods.some(({ metadata }) => componentOf(metadata) === component)) problems.push(`there is no pod of ${component}`)
  }
  for (const { metadata, status } of pods) {
    if (!isTrue(status, 'Ready')) problems.push(`pod ${metadata.name} is not ready (${status.phase})`)
  }
  const jobs = (await list('/apis/batch/v1', 'jobs')).filter(({ metadata }) => componentOf(metadata) !== 'test')
  for (const { metadata, status } of jobs) {
    if (!isTrue(status, 'Complete')) problems.push(`job ${metadata.name} is not complete`)
  }
  const scaled = isScaled ? await list('/apis/keda.sh/v1alpha1', 'scaledobjects') : []
  if (isScaled && scaled.length === 0) problems.push('there is no ScaledObject')
  for (const { metadata, status } of scaled) {
    if (!isTrue(status ?? {}, 'Ready')) problems.push(`KEDA is not ready to scale ${metadata.name}`)
  }
  return problems
}

async function list(group, kind) {
  const selector = encodeURIComponent(`app.kubernetes.io/name=millrace,app.kubernetes.io/instance=${RELEASE}`)
  const response = await fetch(`${server}${group}/namespaces/${NAMESPACE}/${kind}?labelSelector=${selector}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(10_000),
  })
  if (!response.ok) throw new Error(`${kind}: ${response.status} ${await response.text()}`)
  return (await response.json()).items
}

function isTrue(status, type) {
  return (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True')
}

function componentOf({ labels }) {
  return labels['app.kubernetes.io/component']
}

/** Pods that come and go: of tests and of Jobs, which are looked at as Jobs. */
function isTool(metadata) {
  return ['test', 'catalog'].includes(componentOf(metadata))
}
