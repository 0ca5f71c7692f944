import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { mergeValues, readValues, valuesPath, type Values, type ValueSet } from './chart-values.ts'
import { HELMS, ofKind, renderValues, type KubeObject } from './helm.ts'
import { environmentOf, toWorkloads, type Workload } from './workloads.ts'

// Tests values that apply to every pod of the chart, whichever part makes it.

/** Together these sets render every kind of pod. */
const SETS: readonly (readonly [ValueSet, Values])[] = [
  ['production', { gpuClasses: { h100: {}, l40s: {} }, placeholders: { h100: 1 } }],
  ['dev', {}],
]

const COMPONENTS = new Set([
  'billing',
  'catalog',
  'console',
  'gateway',
  'placeholder',
  'postgres',
  'redis',
  'scaler',
  'test',
  'worker',
])

const POD = {
  nodeSelector: { 'example/pool': 'millrace' },
  tolerations: [{ key: 'example/tainted', operator: 'Exists' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  podAnnotations: { 'sidecar.istio.io/inject': 'false' },
  podLabels: { 'example/team': 'inference' },
  priorityClassName: 'serving',
  runtimeClassName: 'nvidia',
  schedulerName: 'volcano',
}

async function renderParts(over: Values): Promise<{ objects: KubeObject[]; pods: Workload[] }> {
  const rendered = SETS.map(async ([set, own]) => await renderOver(set, mergeValues(own, over)))
  const objects = (await Promise.all(rendered)).flat()
  const pods = toWorkloads(objects)
  expect(new Set(pods.map(componentOf))).toEqual(COMPONENTS)
  return { objects, pods }
}

const renderOver = async (set: ValueSet, over: Values): Promise<KubeObject[]> =>
  await renderValues(mergeValues(readValues(valuesPath(set)), over))

const componentOf = ({ labels }: Workload) => labels['app.kubernetes.io/component'] ?? ''

const Template = z.looseObject({
  template: z.looseObject({
    metadata: z.looseObject({
      labels: z.record(z.string(), z.string()),
      annotations: z.record(z.string(), z.string()).default({}),
    }),
  }),
})
const annotationsOf = ({ object }: Workload) => Template.parse(object['spec']).template.metadata.annotations

describe('placement', () => {
  test('what `pods` says holds for every pod', async () => {
    const { pods } = await renderParts({ pods: POD, image: { pullSecrets: [{ name: 'registry' }] } })
    for (const workload of pods) {
      const { pod, labels } = workload
      const isPlaceholder = componentOf(workload) === 'placeholder'
      expect({ of: workload.name, ...pod, labels, annotations: annotationsOf(workload) }).toMatchObject({
        of: workload.name,
        nodeSelector: POD.nodeSelector,
        tolerations: expect.arrayContaining(POD.tolerations),
        affinity: POD.affinity,
        // A placeholder gives way to any worker.
        priorityClassName: isPlaceholder ? 'serving-mr-placeholder' : POD.priorityClassName,
        runtimeClassName: POD.runtimeClassName,
        schedulerName: POD.schedulerName,
        imagePullSecrets: [{ name: 'registry' }],
        labels: POD.podLabels,
        annotations: POD.podAnnotations,
      })
    }
  })

  test.each(['gateway', 'billing', 'scaler', 'console', 'worker', 'catalog', 'tests', 'dev'])(
    'the fields of %s hold for its pods, over those of `pods`',
    async (part) => {
      const { pods } = await renderParts({
        pods: { nodeSelector: { 'example/pool': 'other', 'example/zone': 'a' }, priorityClassName: 'other' },
        [part]: POD,
      })
      const components = { tests: ['test'], dev: ['redis', 'postgres'] }[part] ?? [part]
      const own = pods.filter((one) => components.includes(componentOf(one)))
      expect(own.length).toBeGreaterThan(0)
      for (const workload of own) {
        expect({
          ...workload.pod,
          labels: workload.labels,
          annotations: annotationsOf(workload),
        }).toMatchObject({
          nodeSelector: { 'example/pool': 'millrace', 'example/zone': 'a' },
          tolerations: expect.arrayContaining(POD.tolerations),
          affinity: POD.affinity,
          priorityClassName: 'serving',
          runtimeClassName: 'nvidia',
          schedulerName: 'volcano',
          labels: POD.podLabels,
          annotations: POD.podAnnotations,
        })
      }
      for (const { pod } of pods.filter((one) => !own.includes(one))) {
        expect(pod['nodeSelector']).toMatchObject({ 'example/pool': 'other' })
      }
    },
  )

  test('no value moves a pod out of its own Services and Deployments', async () => {
    const labels = { 'app.kubernetes.io/component': 'mine', 'app.kubernetes.io/instance': 'mine' }
    const { pods } = await renderParts({ pods: { podLabels: labels } })
    for (const { labels: rendered } of pods) expect(rendered['app.kubernetes.io/instance']).toBe('mr')
  })

  test('pods are spread as their part says, or not at all', async () => {
    const rule = {
      maxSkew: 2,
      topologyKey: 'example/rack',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'app.kubernetes.io/component': 'gateway' } },
    }
    const { pods } = await renderParts({
      gateway: { topologySpreadConstraints: [rule] },
      worker: { topologySpreadConstraints: [] },
    })
    const spreads = Object.fromEntries(
      pods.map((one) => [componentOf(one), one.pod['topologySpreadConstraints']]),
    )
    expect(spreads['gateway']).toEqual([rule])
    expect(spreads['worker']).toBeUndefined()
    expect(spreads['billing']).toHaveLength(2)
  })
})

describe('ids', () => {
  const idsOf = ({ pod }: Workload) => {
    const { runAsUser, runAsGroup, fsGroup } = z
      .looseObject({ runAsUser: z.int(), runAsGroup: z.int(), fsGroup: z.int() })
      .partial()
      .parse(pod.securityContext)
    return [runAsUser, runAsGroup, fsGroup]
  }

  test('without podSecurity.setIds no pod names an id, and each still refuses root', async () => {
    const { pods, objects } = await renderParts({ podSecurity: { setIds: false } })
    for (const workload of pods) {
      expect([workload.name, ...idsOf(workload)]).toEqual([workload.name, undefined, undefined, undefined])
      expect(workload.pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      })
    }
    expect(JSON.stringify(objects)).not.toContain('"runAsUser"')
  })

  test('other ids are those of every pod, also large ones; the dev servers keep those of their images', async () => {
    const ids = { runAsUser: 1_000_650_000, runAsGroup: 3_000_000_000, fsGroup: 1_000_660_000 }
    const { pods } = await renderParts({ podSecurity: ids })
    for (const workload of pods) {
      const isServer = ['redis', 'postgres'].includes(componentOf(workload))
      expect([workload.name, ...idsOf(workload)]).toEqual([
        workload.name,
        ...(isServer ? [999, 999, 999] : Object.values(ids)),
      ])
    }
  })
})

describe('addresses', () => {
  test.each([
    ['::', '[::]'],
    ['0.0.0.0', '0.0.0.0'],
  ])('every port but those on loopback listens on %s', async (address, host) => {
    const { pods } = await renderParts(address === '::' ? {} : { listenAddress: address })
    const listeners = pods
      .flatMap(({ containers }) => containers)
      .filter(({ name }) => name !== 'engine')
      .flatMap((container) => Object.entries(environmentOf(container)))
      .filter(([name]) => /(?:^|_)HOST$|_LISTEN$/.test(name))
    expect(new Set(listeners.map(([name]) => name))).toEqual(
      new Set(['HOST', 'OPS_HOST', 'ADMIN_HOST', 'GRPC_LISTEN', 'KEDA_LISTEN']),
    )
    for (const [name, value] of listeners) {
      expect([name, value]).toEqual([
        name,
        { GRPC_LISTEN: `${host}:50090`, KEDA_LISTEN: `${host}:9400` }[name] ?? address,
      ])
    }
  })

  test('every Service takes the families that the values name, and none by itself', async () => {
    const families = { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6', 'IPv4'] }
    const { objects } = await renderParts({ services: families })
    const services = ofKind(objects, 'Service')
    expect(services.length).toBeGreaterThan(8)
    for (const { spec } of services) expect(spec).toMatchObject(families)
    for (const { spec } of ofKind((await renderParts({})).objects, 'Service')) {
      expect(Object.keys(Object(spec)).filter((field) => field.startsWith('ipFamil'))).toEqual([])
    }
  })

  test('no probe names an address', async () => {
    const { pods } = await renderParts({})
    const probes = pods
      .flatMap(({ containers }) => containers)
      .flatMap((one) => [one.startupProbe, one.livenessProbe, one.readinessProbe])
    expect(probes.filter((probe) => probe !== undefined).length).toBeGreaterThan(10)
    expect(JSON.stringify(probes)).not.toMatch(/\d+\.\d+\.\d+\.\d+|"host"/)
  })
})

test('names are resolved at the ports and the peers that the values name', async () => {
  const peer = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'openshift-dns' } } }
  const egressOf = async (networkPolicy: Values) => {
    const objects = await renderOver('production', { networkPolicy })
    const deny = ofKind(objects, 'NetworkPolicy').find(({ metadata }) => metadata.name === 'mr-deny')
    return Object(deny?.['spec']).egress
  }
  const both = (port: number) => [
    { protocol: 'UDP', port },
    { protocol: 'TCP', port },
  ]
  expect(await egressOf({})).toEqual([{ ports: both(53) }])
  expect(await egressOf({ dnsTo: [peer], ports: { dns: [53, 5353] } })).toEqual([
    { ports: [...both(53), ...both(5353)], to: [peer] },
  ])
})

describe('variables', () => {
  const OVER = [
    { name: 'OPS_HOST', value: '127.0.0.1' },
    { name: 'LOG_LEVEL', value: 'warn' },
    { name: 'TRACE_RATIO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'LOG_LEVEL', value: 'debug' },
  ]

  test('no container has a variable twice', async () => {
    const { pods } = await renderParts({})
    for (const container of pods.flatMap(({ containers }) => containers)) {
      const names = container.env.map(({ name }) => name)
      expect([container.name, names.length]).toEqual([container.name, new Set(names).size])
    }
  })

  test.each(HELMS)('%s: an entry of extraEnv replaces what the chart sets', async (helm) => {
    const parts = ['gateway', 'billing', 'scaler', 'console', 'worker']
    const values = mergeValues(
      readValues(valuesPath('production')),
      Object.fromEntries(parts.map((part) => [part, { extraEnv: OVER }])),
    )
    const roles = [...parts, 'migrate']
    const containers = toWorkloads(await renderValues(values, { helm }))
      .flatMap((workload) => workload.containers)
      .filter(({ name }) => roles.includes(name))
    expect(new Set(containers.map(({ name }) => name))).toEqual(new Set(roles))
    for (const { name, env } of containers) {
      const [host, level, ratio] = ['OPS_HOST', 'LOG_LEVEL', 'TRACE_RATIO'].map((variable) =>
        env.filter((entry) => entry.name === variable),
      )
      expect([name, host, level, ratio]).toEqual([name, [OVER[0]], [OVER[3]], [OVER[2]]])
    }
  })
})

test('idle connections are kept for as long as the values say', async () => {
  const seconds = { gateway: 620, billing: 300, console: 3_600 }
  const over = Object.entries(seconds).map(([part, keepAliveSeconds]) => [part, { keepAliveSeconds }])
  const objects = await renderOver('production', Object.fromEntries(over))
  const containers = toWorkloads(objects).flatMap((one) => one.containers)
  const kept = containers.flatMap((one) => {
    const { KEEP_ALIVE_TIMEOUT_S: value } = environmentOf(one)
    return value === undefined ? [] : [[one.name, Number(value)]]
  })
  expect(Object.fromEntries(kept)).toEqual(seconds)
})
