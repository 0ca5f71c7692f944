import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGenerationRecord, type GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { fairKey, finishKey, waitingKey } from '#libs/generation-record/keys.ts'
import { generationJob } from '../../support/generation-job.ts'
import { sharedRedis } from '../../support/redis.ts'

let redis: Redis
let record: GenerationRecord

beforeAll(() => {
  redis = new Redis(sharedRedis())
  record = createGenerationRecord({ redis, self: 'gateway-1', graceMs: 60_000, nowMs: () => Date.now() })
})

afterAll(() => redis.disconnect())

async function queue(model: string, accountId: string, mostAhead = 1_000_000) {
  const job = generationJob({ model })
  const admission = await record.admit(model, { id: job.id, accountId, mostAhead })
  if (admission.admitted) await record.open(job, admission.tag)
  return { job, ...admission }
}

test('a flooding account waits behind its own generations, another account only behind the first of them', async () => {
  const model = `model-${randomUUID()}`
  const flood = []
  for (let turn = 0; turn < 50; turn += 1) flood.push(await queue(model, 'flooder'))
  const neighbour = await queue(model, 'neighbour')
  expect(flood.map(({ tag }) => tag)).toEqual(Array.from({ length: 50 }, (_, turn) => turn + 2))
  expect(neighbour.tag).toBe(2)
  expect(neighbour.ahead).toBe(1)
})

test('a generation with more than the allowed number ahead is refused and changes nothing', async () => {
  const model = `model-${randomUUID()}`
  for (let turn = 0; turn < 5; turn += 1) await queue(model, 'flooder')
  const refused = await queue(model, 'flooder', 4)
  expect(refused).toMatchObject({ admitted: false, ahead: 5 })
  expect(await redis.zcard(waitingKey(model))).toBe(5)
  expect(await queue(model, 'flooder', 5)).toMatchObject({ admitted: true, tag: refused.tag })
})

test('an issued tag counts as ahead before it is used', async () => {
  const model = `model-${randomUUID()}`
  await record.admit(model, { id: 'issued', accountId: 'first', mostAhead: 0 })
  expect(await queue(model, 'second', 0)).toMatchObject({ admitted: false, ahead: 1 })
})

test('an unused tag expires after two seconds', async () => {
  const model = `model-${randomUUID()}`
  await record.admit(model, { id: 'issued', accountId: 'first', mostAhead: 0 })
  await expect
    .poll(
      async () => (await record.admit(model, { id: 'later', accountId: 'second', mostAhead: 0 })).admitted,
      {
        timeout: 10_000,
      },
    )
    .toBe(true)
})

test('an account without waiting generations starts at the virtual time', async () => {
  const model = `model-${randomUUID()}`
  const flood = []
  for (let turn = 0; turn < 10; turn += 1) flood.push(await queue(model, 'flooder'))
  for (const { job } of flood.slice(0, 6)) await record.claim(model, { id: job.id, epoch: 1 }, 'worker-1')
  const served = flood[5]?.tag
  expect((await queue(model, 'newcomer')).tag).toBe(served)
})

test('tags stop at the highest BullMQ priority', async () => {
  const model = `model-${randomUUID()}`
  await queue(model, 'first')
  await redis.zadd(finishKey(model), '3000000', 'worn-out')
  expect((await queue(model, 'worn-out')).tag).toBe(2_097_151)
})

test('tags restart when no generation waits and none was issued for two seconds', async () => {
  const model = `model-${randomUUID()}`
  const { job } = await queue(model, 'first')
  await redis.hset(fairKey(model), 'v', '500')
  await record.cancel(model, job.id)
  expect((await queue(model, 'second')).tag).toBe(500)
  await record.cancel(model, (await queue(model, 'third')).job.id)
  for (const id of await redis.zrange(waitingKey(model), '0', '-1')) await record.cancel(model, id)
  // Tags use the clock of Redis; an old `last` stands for two seconds without a tag.
  await redis.hset(fairKey(model), 'last', '0')
  expect((await queue(model, 'fourth')).tag).toBe(2)
})

test('a generation that waited beyond its deadline no longer counts', async () => {
  const model = `model-${randomUUID()}`
  const job = generationJob({ model, deadlineMs: Date.now() - 120_000 })
  await record.admit(model, { id: job.id, accountId: 'gone', mostAhead: 0 })
  await record.open(job, 2)
  expect(await queue(model, 'second', 0)).toMatchObject({ admitted: true, ahead: 0 })
})
