import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { until } from '../support/until.ts'
import { kubectl, runProgram } from './lab/cluster.ts'
import { modelValues, RELEASE } from './release-values.ts'
import { openStage, type Stage } from './stage.ts'

const KEPT = { scale: { min: 2, max: 4 } }
let stage: Stage
let startedMs: number

beforeAll(async () => {
  startedMs = performance.now()
  stage = await openStage({ models: { alpha: modelValues(KEPT), beta: modelValues(KEPT) } })
})

afterAll(async () => await stage.close())

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        uid: z.string(),
        deletionTimestamp: z.string().optional(),
        labels: z.record(z.string(), z.string()),
      }),
    }),
  ),
})
const Deployments = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), generation: z.int() }),
      spec: z.object({ replicas: z.int() }),
      status: z.object({
        observedGeneration: z.int().default(0),
        replicas: z.int().default(0),
        updatedReplicas: z.int().default(0),
        readyReplicas: z.int().default(0),
      }),
    }),
  ),
})
const Template = z.object({ spec: z.object({ template: z.unknown() }) })

const read = async (kind: string): Promise<unknown> =>
  JSON.parse(await kubectl(['get', kind, '--namespace', stage.namespace, '-o', 'json']))

/** Returns the names of Deployments' pods, by component or pool. */
async function pods(): Promise<Record<string, string[]>> {
  const { items } = Pods.parse(await read('pods'))
  const named: Record<string, string[]> = {}
  for (const { metadata } of items) {
    const { labels } = metadata
    const name = labels['millrace/pool'] ?? labels['app.kubernetes.io/component'] ?? ''
    if (metadata.deletionTimestamp !== undefined || labels['batch.kubernetes.io/job-name'] !== undefined)
      continue
    named[name] = [...(named[name] ?? []), metadata.uid].toSorted()
  }
  return named
}

async function isRolledOut(): Promise<boolean> {
  const { items } = Deployments.parse(await read('deployments'))
  return items.every(
    ({ metadata, spec, status }) =>
      status.observedGeneration === metadata.generation &&
      [status.replicas, status.updatedReplicas, status.readyReplicas].every(
        (number) => number === spec.replicas,
      ) &&
      (!metadata.name.match(/alpha|beta/) || spec.replicas === 2),
  )
}

const settle = async () => await until(isRolledOut, 180_000)

const templateOf = async (deployment: string) =>
  Template.parse(
    JSON.parse(
      await kubectl(['get', 'deployment', deployment, '--namespace', stage.namespace, '-o', 'json']),
    ),
  ).spec.template

test('everything of a new release becomes ready', async () => {
  await settle()
  console.log(
    `ready ${((performance.now() - startedMs) / 1_000).toFixed(1)} s after the start of the installation`,
  )
  const numbers = Object.entries(await pods()).map(([name, { length }]) => [name, length] as const)
  expect(Object.fromEntries(numbers)).toEqual({
    [`${RELEASE}-alpha`]: 2,
    [`${RELEASE}-beta`]: 2,
    gateway: 1,
    billing: 1,
    scaler: 2,
  })
})

test('an upgrade without a change replaces no pod', async () => {
  const before = await pods()
  await stage.upgrade()
  await settle()
  expect(await pods()).toEqual(before)
})

test('arguments of one engine replace the pods of that model alone, and a roll-back brings the former back', async () => {
  const before = await pods()
  const template = await templateOf(`${RELEASE}-beta`)
  await stage.upgrade({ models: { beta: { engine: { args: ['--enable-prefix-caching'] } } } })
  await settle()
  const after = await pods()
  const { [`${RELEASE}-beta`]: replaced, ...others } = after
  const { [`${RELEASE}-beta`]: former, ...same } = before
  expect(others).toEqual(same)
  expect(replaced?.filter((uid) => former?.includes(uid))).toEqual([])
  expect(await templateOf(`${RELEASE}-beta`)).not.toEqual(template)

  await runProgram('helm', ['rollback', RELEASE, '--namespace', stage.namespace])
  await settle()
  expect(await templateOf(`${RELEASE}-beta`)).toEqual(template)
  const { [`${RELEASE}-beta`]: again, ...stayed } = await pods()
  expect(stayed).toEqual(same)
  expect(again).toHaveLength(2)
})
