import { expect, test } from 'vitest'
import { mergeValues, readValues, valuesPath, type Values } from './chart-values.ts'
import { nameOf, renderValues, type KubeObject } from './helm.ts'
import { toWorkloads } from './workloads.ts'

// Which pods a change of values replaces: pods with running streams are not replaced unless the change concerns them.

const MANY = readValues(valuesPath('many-models'))

const changedBy = async (change: Values): Promise<string[]> => {
  const [before, after] = [await renderValues(MANY), await renderValues(mergeValues(MANY, change))]
  const texts = new Map(before.map((object) => [nameOf(object), JSON.stringify(object)]))
  const changed = after.filter((object) => texts.get(nameOf(object)) !== JSON.stringify(object)).map(nameOf)
  const names = new Set(after.map(nameOf))
  return [...changed, ...before.map(nameOf).filter((name) => !names.has(name))].toSorted()
}

/** Returns a name without its hash. */
const withoutHash = (name: string) => name.replace(/-[0-9a-f]{10}$/, '')

test('arguments of one engine replace the pods of that model alone', async () => {
  const change = { models: { 'qwen3-8b': { engine: { args: ['--enable-prefix-caching'] } } } }
  expect(await changedBy(change)).toEqual(['Deployment/mr-qwen3-8b'])
})

test('a new price replaces no pod: the catalog changes, and a Job publishes it', async () => {
  const change = { models: { 'qwen3-8b': { price: { input: '0.06' } } } }
  expect(new Set((await changedBy(change)).map(withoutHash))).toEqual(
    new Set(['ConfigMap/mr-catalog', 'Job/mr-catalog']),
  )
})

test('a new maximum replaces only the scaler, which reads its models once', async () => {
  expect(await changedBy({ models: { 'qwen3-8b': { scale: { max: 20 } } } })).toEqual([
    'ConfigMap/mr-scaler',
    'Deployment/mr-scaler',
    'ScaledObject/mr-qwen3-8b',
  ])
})

test('a new image publishes nothing anew: the Job is another one, with the same content', async () => {
  const contents = async (tag: string) =>
    toWorkloads(await renderValues(mergeValues(MANY, { image: { tag } })))
      .filter(({ name }) => name.startsWith('Job/mr-catalog'))
      .map(({ name, containers: [container] }) => ({ name, args: container?.args }))
  const [[older], [newer]] = [await contents('1'), await contents('2')]
  expect(older?.args?.[4]).toMatch(/^[0-9a-f]{16}$/)
  expect(newer?.args).toEqual(older?.args)
  expect(newer?.name).not.toBe(older?.name)
})

test('a model that is switched off keeps its text and loses its objects', async () => {
  const off = await renderValues(mergeValues(MANY, { models: { 'qwen3-8b': { enabled: false } } }))
  const ofModel = ({ metadata }: KubeObject) => metadata.name.startsWith('mr-qwen3-8b')
  expect(off.filter(ofModel)).toEqual([])
  expect((await renderValues(MANY)).filter(ofModel).map(({ kind }) => kind)).toEqual([
    'ConfigMap',
    'Deployment',
    'PodDisruptionBudget',
    'ScaledObject',
  ])
})
