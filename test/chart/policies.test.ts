import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { VALUE_SETS } from './chart-values.ts'
import { nameOf, ofKind, renderSet, type KubeObject } from './helm.ts'
import { environmentOf, isSelected, toWorkloads, type Workload } from './workloads.ts'

// Properties that every pod and every pool of the chart has, whatever the values.

const Selector = z.object({ matchLabels: z.record(z.string(), z.string()) })
const ScaledObject = z.looseObject({
  scaleTargetRef: z.object({ name: z.string() }),
  minReplicaCount: z.int(),
  maxReplicaCount: z.int(),
  triggers: z.array(z.looseObject({ type: z.string(), metadata: z.record(z.string(), z.string()) })),
})

const scalesOf = (objects: readonly KubeObject[]) =>
  new Map(
    ofKind(objects, 'ScaledObject').map((object) => [
      object.metadata.name,
      ScaledObject.parse(object['spec']),
    ]),
  )

const deployments = (workloads: readonly Workload[]) =>
  workloads.filter(({ object }) => object.kind === 'Deployment')

/** True for a placeholder pod, which exists only to be evicted. */
const isPlaceholder = ({ labels }: Workload) => labels['app.kubernetes.io/component'] === 'placeholder'

/** Returns true for an address without a login. */
function isOpenAddress(text: string): boolean {
  const { protocol, username, password } = new URL(text)
  return protocol.startsWith('http') && username === '' && password === ''
}

describe.each(VALUE_SETS)('the value set %s', (set) => {
  const load = async () => {
    const objects = await renderSet(set)
    const workloads = toWorkloads(objects)
    expect(workloads.length).toBeGreaterThan(4)
    return {
      objects,
      workloads,
      containers: workloads.flatMap((of) => of.containers.map((container) => ({ of, container }))),
    }
  }

  test('a Deployment has a number of replicas exactly where no ScaledObject sets it', async () => {
    const { objects, workloads } = await load()
    const scales = scalesOf(objects)
    for (const { object, name, replicas } of deployments(workloads)) {
      expect([name, replicas === undefined]).toEqual([name, scales.has(object.metadata.name)])
    }
    for (const [name, { scaleTargetRef, minReplicaCount, maxReplicaCount, triggers }] of scales) {
      expect(deployments(workloads).map(({ object }) => object.metadata.name)).toContain(scaleTargetRef.name)
      expect(minReplicaCount).toBeLessThanOrEqual(maxReplicaCount)
      expect(triggers).toMatchObject([{ type: 'external-push', metadata: { pool: name } }])
    }
  })

  test('every pod meets the restricted level, and no container may write to its image', async () => {
    const { workloads, containers } = await load()
    for (const { name, pod } of workloads) {
      const { runAsNonRoot, runAsUser, seccompProfile } = pod.securityContext
      expect([name, runAsNonRoot, seccompProfile.type]).toEqual([name, true, 'RuntimeDefault'])
      expect([name, runAsUser]).not.toEqual([name, 0])
      expect([name, pod.enableServiceLinks]).toEqual([name, false])
    }
    for (const { of, container } of containers) {
      const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext
      expect([of.name, allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities.drop]).toEqual([
        of.name,
        false,
        true,
        ['ALL'],
      ])
    }
  })

  test('only the scaler and the test of the release get a token of the API server', async () => {
    const { workloads } = await load()
    const withToken = workloads.filter(({ pod }) => pod.automountServiceAccountToken).map(({ name }) => name)
    expect(withToken.toSorted()).toEqual(['Deployment/mr-scaler', 'Job/mr-test-release'])
  })

  test('every container asks for processor and memory, and has a limit of memory alone', async () => {
    const { containers } = await load()
    for (const { of, container } of containers) {
      const { requests, limits } = container.resources
      const where = `${of.name} ${container.name}`
      expect([where, requests['cpu'], requests['memory']]).not.toContain(undefined)
      expect([where, limits['memory'], limits['cpu']]).toEqual([where, expect.anything(), undefined])
    }
  })

  test('every container that stays is probed, with time for a busy node', async () => {
    const { containers } = await load()
    for (const { of, container } of containers) {
      const stays = of.object.kind === 'Deployment' && !isPlaceholder(of) && container.name !== 'migrate'
      if (!stays) continue
      // The worker, not a probe, decides whether its engine is ready.
      const wanted =
        container.name === 'engine'
          ? [container.livenessProbe]
          : [container.livenessProbe, container.readinessProbe]
      expect([of.name, ...wanted]).not.toContain(undefined)
      for (const probe of wanted) expect(probe?.timeoutSeconds).toBeGreaterThanOrEqual(5)
      const { startupProbe } = container
      if (startupProbe === undefined) continue
      const { periodSeconds, failureThreshold = 3 } = startupProbe
      // On a busy node that starts everything at once, each start that is cut off and repeated slows the others.
      expect(periodSeconds * failureThreshold).toBeGreaterThanOrEqual(300)
    }
  })

  test('whatever may have several pods has one disruption budget', async () => {
    const { objects, workloads } = await load()
    const scales = scalesOf(objects)
    const budgets = ofKind(objects, 'PodDisruptionBudget').map(
      (object) => z.looseObject({ selector: Selector }).parse(object['spec']).selector.matchLabels,
    )
    for (const workload of deployments(workloads).filter((one) => !isPlaceholder(one))) {
      const { name, object, labels, replicas = 1 } = workload
      const most = scales.get(object.metadata.name)?.maxReplicaCount ?? replicas
      const covering = budgets.filter((selector) => isSelected(selector, labels)).length
      expect([name, covering]).toEqual([name, most > 1 ? 1 : covering])
      expect(covering).toBeLessThanOrEqual(1)
    }
  })

  test('selectors are of their own pods, and of nothing that an upgrade changes', async () => {
    const { objects, workloads } = await load()
    for (const { name, labels, selector, object } of deployments(workloads)) {
      expect([name, isSelected(selector, labels)]).toEqual([name, true])
      expect(Object.keys(labels).filter((label) => /version|chart|managed-by/.test(label))).toEqual([])
      const others = deployments(workloads).filter((other) => other.object !== object)
      expect(others.filter((other) => isSelected(selector, other.labels)).map((other) => other.name)).toEqual(
        [],
      )
    }
    for (const object of ofKind(objects, 'Service')) {
      const { selector } = z.looseObject({ selector: z.record(z.string(), z.string()) }).parse(object['spec'])
      expect([nameOf(object), workloads.filter(({ labels }) => isSelected(selector, labels)).length]).toEqual(
        [nameOf(object), 1],
      )
    }
  })

  test('secrets come as files that are mounted, never as values, and are in no ConfigMap', async () => {
    const { objects, containers } = await load()
    for (const { of, container } of containers) {
      const files = container.volumeMounts.flatMap(({ name, mountPath }) => {
        const volume = of.pod.volumes.find((one) => one.name === name)
        expect([of.name, name, volume?.name]).toEqual([of.name, name, name])
        const items = volume?.projected?.sources.flatMap(({ secret }) => secret.items) ?? []
        return items.map(({ path }) => `${mountPath}/${path}`)
      })
      const variables = Object.entries(environmentOf(container))
      const paths = variables.filter(([name, value]) => name.endsWith('_FILE') && value.includes('/secrets/'))
      expect(files).toEqual(expect.arrayContaining(paths.map(([, path]) => path)))
      const secrets = variables.filter(
        ([name]) => /TOKEN|SECRET|PASSWORD|URL/.test(name) && !name.endsWith('_FILE'),
      )
      expect(secrets.filter(([, value]) => !isOpenAddress(value))).toEqual([])
    }
    const secrets = ofKind(objects, 'Secret').flatMap((object) =>
      Object.values(z.record(z.string(), z.string()).parse(object['data'])).map((value) =>
        Buffer.from(value, 'base64').toString(),
      ),
    )
    expect(secrets.length > 0).toBe(set === 'dev')
    const others = JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret'))
    for (const secret of secrets) expect(others).not.toContain(secret.startsWith('redis:') ? '\0' : secret)
  })

  test('every pod is under the policy that denies everything, and under one that allows what it needs', async () => {
    const { objects, workloads } = await load()
    const policies = ofKind(objects, 'NetworkPolicy').map((object) => ({
      name: object.metadata.name,
      labels: z.looseObject({ podSelector: Selector }).parse(object['spec']).podSelector.matchLabels,
    }))
    for (const workload of workloads.filter((one) => !isPlaceholder(one))) {
      const names = policies
        .filter(({ labels }) => isSelected(labels, workload.labels))
        .map(({ name }) => name)
      expect([workload.name, names.includes('mr-deny'), names.length]).toEqual([workload.name, true, 2])
    }
  })
})
