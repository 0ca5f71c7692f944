import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { followObjects, ObjectMeta } from '#libs/kubernetes/follow-objects.ts'
import { createKubernetesClient, KubernetesError } from '#libs/kubernetes/kubernetes-client.ts'
import { startKubernetesApi } from '../../support/kubernetes-api.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import { until } from '../../support/until.ts'

const PODS = '/api/v1/namespaces/lab/pods'
const Pod = z.object({ metadata: ObjectMeta, phase: z.string().optional() })
const log = pino({ level: 'silent' })

async function startApi() {
  const api = await startKubernetesApi([PODS])
  onTestFinished(() => api.close())
  return api
}

function connect(url: string, tokenFile?: string) {
  const client = createKubernetesClient({ url, ca: undefined, tokenFile })
  onTestFinished(() => client.close())
  return client
}

function follow(url: string, labelSelector?: string) {
  const pods = followObjects({
    client: connect(url),
    path: PODS,
    ...(labelSelector === undefined ? {} : { labelSelector }),
    schema: Pod,
    nowMs: () => performance.now(),
    log,
  })
  onTestFinished(() => pods.stop())
  const names = () => [...pods.current().values()].map(({ metadata }) => metadata.name).toSorted()
  const untilNames = async (...expected: string[]) =>
    await until(async () => JSON.stringify(names()) === JSON.stringify(expected))
  return { pods, names, untilNames }
}

const pod = (name: string, labels: Record<string, string> = {}) => ({ metadata: { name, labels } })
const watches = (requests: readonly string[]) => requests.filter((request) => request.includes('watch=true'))
const lists = (requests: readonly string[]) => requests.filter((request) => request.includes('limit='))

test('objects of all pages are listed, and changes follow', async () => {
  const api = await startApi()
  for (let number = 0; number < 1_100; number += 1) api.put(PODS, pod(`pod-${number}`))
  const { pods } = follow(api.url)
  expect(pods.behindMs()).toBe(Infinity)
  await until(async () => pods.current().size === 1_100 && pods.behindMs() === 0)
  expect(lists(api.requests)).toHaveLength(3)
  api.put(PODS, pod('late'))
  api.remove(PODS, 'pod-7')
  await until(async () => {
    const found = [...pods.current().values()].map(({ metadata }) => metadata.name)
    return found.includes('late') && !found.includes('pod-7')
  })
})

test('a selector leaves other objects out', async () => {
  const api = await startApi()
  api.put(PODS, pod('worker', { pool: 'a' }))
  api.put(PODS, pod('other'))
  const { untilNames } = follow(api.url, 'pool')
  await untilNames('worker')
  api.put(PODS, pod('unlabelled'))
  api.put(PODS, pod('second', { pool: 'b' }))
  await untilNames('second', 'worker')
  expect(lists(api.requests)).toHaveLength(1)
})

test('a watch that ends is resumed from the last bookmark, without a new list', async () => {
  const api = await startApi()
  const { pods, names, untilNames } = follow(api.url)
  await until(async () => pods.behindMs() === 0)
  api.put(PODS, pod('first'))
  await untilNames('first')
  for (const how of ['cleanly', 'hard'] as const) {
    const [before, bookmarked] = [watches(api.requests).length, api.bookmark(PODS)]
    api.put(PODS, pod(`before-${how}`))
    await until(async () => names().includes(`before-${how}`))
    const resumed = api.bookmark(PODS)
    expect(resumed).toBe(bookmarked + 2)
    api.endWatches(how)
    await until(async () => watches(api.requests).length > before)
    expect(watches(api.requests).at(-1)).toMatch(new RegExp(`resourceVersion=(?:${resumed}|${resumed - 1})&`))
    api.put(PODS, pod(`after-${how}`))
    await until(async () => names().includes(`after-${how}`))
  }
  expect(lists(api.requests)).toHaveLength(1)
})

test('a resource version that is too old is answered by a new list, which also removes what has gone', async () => {
  const api = await startApi()
  api.put(PODS, pod('gone'))
  api.put(PODS, pod('stays'))
  const { pods, untilNames } = follow(api.url)
  await until(async () => pods.behindMs() === 0)
  api.failWith(503)
  api.endWatches('hard')
  await until(async () => pods.behindMs() > 0)
  api.remove(PODS, 'gone')
  api.compact()
  api.failWith(null)
  await untilNames('stays')
  await until(async () => pods.behindMs() === 0)
  expect(lists(api.requests).length).toBeGreaterThan(1)
})

test('failures are repeated with growing pauses', async () => {
  const api = await startApi()
  api.failWith(500)
  const { pods, untilNames } = follow(api.url)
  await until(async () => api.requests.length >= 3)
  expect(pods.behindMs()).toBe(Infinity)
  api.put(PODS, pod('first'))
  api.failWith(null)
  await untilNames('first')
  expect(api.requests.length).toBeLessThan(20)
})

test('an object that does not fit the schema is left out', async () => {
  const api = await startApi()
  api.put(PODS, { ...pod('odd'), phase: 7 })
  api.put(PODS, pod('right'))
  const { names, untilNames } = follow(api.url)
  await untilNames('right')
  expect(names()).toEqual(['right'])
})

test('a token that the server refuses is read again', async () => {
  const api = await startApi()
  const tokenFile = join(scratchFolder('token'), 'token')
  writeFileSync(tokenFile, 'first\n')
  api.setToken('first')
  const client = connect(api.url, tokenFile)
  await client.get(`${PODS}?limit=1`)
  api.setToken('second')
  writeFileSync(tokenFile, 'second\n')
  await expect(client.get(`${PODS}?limit=1`)).rejects.toThrow(KubernetesError)
  await client.get(`${PODS}?limit=1`)
})

test('a merge patch changes one annotation and removes it again', async () => {
  const api = await startApi()
  api.put(PODS, { metadata: { name: 'first', annotations: { kept: 'yes' } } })
  const client = connect(api.url)
  await client.patch(`${PODS}/first`, { metadata: { annotations: { cost: '-1000' } } })
  expect(api.find(PODS, 'first')?.metadata.annotations).toEqual({ kept: 'yes', cost: '-1000' })
  await client.patch(`${PODS}/first`, { metadata: { annotations: { cost: null } } })
  expect(api.find(PODS, 'first')?.metadata.annotations).toEqual({ kept: 'yes' })
  await expect(client.patch(`${PODS}/unknown`, {})).rejects.toMatchObject({ status: 404 })
})
