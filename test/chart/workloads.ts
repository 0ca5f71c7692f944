import { z } from 'zod'
import { nameOf, type KubeObject } from './helm.ts'

/** The parts of rendered workloads that the tests read. */

const Strings = z.record(z.string(), z.string())
const Quantities = z.record(z.string(), z.union([z.string(), z.number()])).default({})
const Probe = z.looseObject({
  periodSeconds: z.int(),
  timeoutSeconds: z.int(),
  failureThreshold: z.int().optional(),
})

const Container = z.looseObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).default([]),
  command: z.array(z.string()).default([]),
  restartPolicy: z.string().optional(),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
  resources: z.looseObject({ requests: Quantities, limits: Quantities }),
  securityContext: z.looseObject({
    allowPrivilegeEscalation: z.boolean(),
    readOnlyRootFilesystem: z.boolean(),
    capabilities: z.looseObject({ drop: z.array(z.string()) }),
  }),
  livenessProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  startupProbe: Probe.optional(),
})
export type Container = z.infer<typeof Container>

const Volume = z.looseObject({
  name: z.string(),
  projected: z
    .looseObject({
      sources: z.array(
        z.looseObject({
          secret: z.looseObject({ name: z.string(), items: z.array(z.looseObject({ path: z.string() })) }),
        }),
      ),
    })
    .optional(),
})

const PodSpec = z.looseObject({
  serviceAccountName: z.string().optional(),
  automountServiceAccountToken: z.boolean(),
  enableServiceLinks: z.boolean(),
  terminationGracePeriodSeconds: z.int().default(30),
  securityContext: z.looseObject({
    runAsNonRoot: z.boolean(),
    runAsUser: z.int().optional(),
    seccompProfile: z.looseObject({ type: z.string() }),
  }),
  initContainers: z.array(Container).default([]),
  containers: z.array(Container),
  volumes: z.array(Volume).default([]),
})
export type PodSpec = z.infer<typeof PodSpec>

const Template = z.object({
  template: z.object({
    metadata: z.object({ labels: Strings, annotations: Strings.default({}) }),
    spec: PodSpec,
  }),
  replicas: z.int().optional(),
  selector: z.object({ matchLabels: Strings }).optional(),
})

/** One kind of pod of the release. */
export type Workload = {
  /** Kind and name, such as `Deployment/mr-gateway`. */
  readonly name: string
  readonly object: KubeObject
  readonly labels: Readonly<Record<string, string>>
  readonly pod: PodSpec
  readonly containers: readonly Container[]
  readonly replicas: number | undefined
  readonly selector: Readonly<Record<string, string>>
}

/** Returns every Deployment, Job and Pod. Throws if one lacks a field that every pod of the chart has. */
export function toWorkloads(objects: readonly KubeObject[]): Workload[] {
  return objects
    .filter(({ kind }) => ['Deployment', 'Job', 'Pod'].includes(kind))
    .map((object) => {
      const spec =
        object.kind === 'Pod'
          ? { template: { metadata: object.metadata, spec: object['spec'] } }
          : object['spec']
      const { template, replicas, selector } = Template.parse(spec)
      return {
        name: nameOf(object),
        object,
        labels: template.metadata.labels,
        pod: template.spec,
        containers: [...template.spec.initContainers, ...template.spec.containers],
        replicas,
        selector: selector?.matchLabels ?? {},
      }
    })
}

export const isSelected = (
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean => Object.entries(selector).every(([name, value]) => labels[name] === value)

/** Returns the variables of a container that have a value. */
export const environmentOf = ({ env }: Container): Record<string, string> =>
  Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])))
