import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import { createGenerationRecord, type Enqueueing } from '#libs/generation-record/generation-record.ts'
import { idsKey, jobKey, promptKey, recordKey } from '#libs/queue-redis/keys.ts'
import {
  generationClaim,
  generationJob,
  generationEnqueue,
  enqueuePlace,
} from '../../support/generation-job.ts'
import { sharedRedis } from '../../support/redis.ts'
import {
  redis,
  record,
  useRecord,
  GATEWAY,
  settlementOf,
  enqueue,
  claim,
  enqueued,
  claimed,
  largeRequest,
} from './record-under-test.ts'

useRecord()

test('a worker claims what a gateway enqueued: the whole job, and the time that remains by the clock of Redis', async () => {
  const job = await enqueued()
  const answer = await claim(job)
  expect(answer).toEqual({
    status: 'claimed',
    id: job.id,
    epoch: 1,
    job,
    ids: new Uint32Array(),
    promptTokens: null,
    engineDeaths: 0,
    remainingMs: expect.any(Number),
    waiting: 0,
    waitedMs: expect.any(Number),
  })
  if (answer.status !== 'claimed') return
  expect(answer.remainingMs).toBeGreaterThan(30_000)
  expect(answer.remainingMs).toBeLessThanOrEqual(60_000)
})

test('a repeated enqueue of a waiting generation keeps its place', async () => {
  const job = await enqueued()
  await enqueue(generationJob({ model: job.model }))
  const again = { status: 'waiting', tag: 1, ahead: 0, costAhead: null, home: null }
  expect(await enqueue(job)).toEqual(again)
  expect(await enqueue(job, { tag: 1 })).toEqual(again)
  expect(await claim(job)).toMatchObject({ id: job.id })
})

test('an enqueue of a claimed generation names the worker and its nonce', async () => {
  const job = await claimed({ worker: 'worker-2', nonce: 'nonce-2' })
  const answer = { status: 'claimed', worker: 'worker-2', nonce: 'nonce-2' }
  expect(await enqueue(job)).toEqual(answer)
  expect(await enqueue(job, { tag: 1 })).toEqual(answer)
})

test('an enqueue of a settled generation changes nothing', async () => {
  const job = await claimed()
  await record.settle(job.model, settlementOf(job), GATEWAY)
  expect(await enqueue(job)).toEqual({ status: 'settled' })
  expect(await enqueue(job, { epoch: 2, tag: 1 })).toEqual({ status: 'settled' })
  expect(await claim(job)).toEqual({ status: 'nothing' })
})

test('an enqueue of a later epoch takes the generation from its worker, and its claim is forgotten', async () => {
  const first = generationClaim()
  const job = await enqueued()
  await record.claim(job.model, first)
  expect(await enqueue(job, { epoch: 2, tag: 1 })).toMatchObject({ status: 'waiting', tag: 0, ahead: 0 })
  expect(await redis.hmget(recordKey(job.model, job.id), 'worker', 'nonce')).toEqual([null, null])
  expect(await record.claim(job.model, first)).toEqual({ status: 'nothing' })
  expect(await claim(job, { worker: 'worker-2' })).toMatchObject({ status: 'claimed', epoch: 2 })
})

test('a late enqueue of an earlier epoch changes nothing', async () => {
  const job = await claimed()
  await enqueue(job, { epoch: 3, tag: 1 })
  const before = await redis.hgetall(recordKey(job.model, job.id))
  expect(await enqueue(job, { epoch: 2, tag: 1 })).toEqual({ status: 'superseded' })
  expect(await enqueue(job)).toEqual({ status: 'superseded' })
  expect(await redis.hgetall(recordKey(job.model, job.id))).toEqual(before)
  expect(await claim(job)).toMatchObject({ status: 'claimed', epoch: 3 })
  expect(await enqueue(job, { epoch: 2, tag: 1 })).toEqual({ status: 'superseded' })
})

test('a later epoch has its own job, ids and prompt count, and waits before every tag', async () => {
  const job = await claimed()
  await enqueue(generationJob({ model: job.model }))
  const dearer = { ...job, hold: { ...job.hold, amountNano: '5' } }
  const ids = Uint32Array.of(0, 7, 4_294_967_295)
  const engineDeaths = 1
  const next = { epoch: 2, tag: 1, ids, promptTokens: 12, engineDeaths }
  expect(await enqueue(dearer, next)).toMatchObject({ ahead: 0 })
  expect(await claim(job)).toMatchObject({
    id: job.id,
    epoch: 2,
    job: dearer,
    ids,
    promptTokens: 12,
    engineDeaths,
  })
})

test('a restart in a later epoch has no ids', async () => {
  const job = await claimed()
  await enqueue(job, { epoch: 2, tag: 1, ids: Uint32Array.of(1, 2) })
  await claim(job)
  await enqueue(job, { epoch: 3, tag: 1 })
  expect(await claim(job)).toMatchObject({ epoch: 3, ids: new Uint32Array() })
  expect(await redis.exists(idsKey(job.model, job.id))).toBe(0)
})

test('a lost record is enqueued again to its epoch, under its tag', async () => {
  const job = generationJob()
  expect(await enqueue(job, { tag: 40 })).toMatchObject({ status: 'waiting', tag: 40, ahead: 0 })
  const other = generationJob({ model: job.model })
  expect(await enqueue(other, { place: enqueuePlace({ accountId: 'account-2' }) })).toMatchObject({ tag: 1 })
  expect(await claim(job)).toMatchObject({ id: other.id })

  const continued = generationJob({ model: job.model })
  const ids = Uint32Array.of(1, 2)
  await enqueue(continued, { epoch: 5, tag: 1, ids, promptTokens: 9 })
  expect(await claim(job)).toMatchObject({ id: continued.id, epoch: 5, ids, promptTokens: 9 })
})

test('a large request is sent once, stored compressed beside the record, and goes through all epochs', async () => {
  const job = await enqueued({ request: largeRequest() })
  const stored = await redis.strlen(promptKey(job.model, job.id))
  expect(stored).toBeGreaterThan(20_000)
  expect(stored).toBeLessThan(40_000)
  expect(await redis.strlen(jobKey(job.model, job.id))).toBeLessThan(1_000)
  expect(await claim(job)).toMatchObject({ job })

  expect(await sentBytes(job, { epoch: 2, tag: 1 })).toBeLessThan(stored / 2)
  expect(await claim(job)).toMatchObject({ epoch: 2, job })
  await redis.del(promptKey(job.model, job.id))
  await enqueue(job, { epoch: 3, tag: 1 })
  expect(await claim(job)).toMatchObject({ epoch: 3, job })
})

test('a refused first enqueue does not send its large request', async () => {
  const job = await enqueued()
  const large = generationJob({ model: job.model, request: largeRequest() })
  const place = enqueuePlace({ accountId: 'account-2', mostAhead: 0 })
  expect(await sentBytes(large, { place })).toBeLessThan(10_000)
  expect(await enqueue(large, { place })).toEqual({ status: 'busy', reason: 'queue', ahead: 1 })
})

/** Returns how many bytes one enqueue sends to Redis. */
async function sentBytes(job: ChatJob, fields: Partial<Enqueueing>): Promise<number> {
  const own = new Redis(sharedRedis())
  try {
    await own.ping()
    const before = own.stream.bytesWritten
    const ownRecord = createGenerationRecord({ redis: own, self: 'self-1', graceMs: 60_000 })
    await ownRecord.enqueue(await generationEnqueue(job, fields))
    return own.stream.bytesWritten - before
  } finally {
    own.disconnect()
  }
}

test('a later epoch gives all parts the time that remains then', async () => {
  const job = generationJob({ request: largeRequest() })
  const ids = Uint32Array.of(1)
  await enqueue(job, { remainingMs: 1_000, ids })
  await enqueue(job, { epoch: 2, tag: 1, remainingMs: 600_000, ids })
  for (const key of [recordKey, jobKey, promptKey, idsKey]) {
    expect(await redis.pttl(key(job.model, job.id))).toBeGreaterThan(600_000)
  }
})

test('a record lives until its deadline and the grace', async () => {
  const job = generationJob()
  const brief = createGenerationRecord({ redis, self: 'self-1', graceMs: 5 })
  await brief.enqueue(await generationEnqueue(job, { remainingMs: 20, ids: Uint32Array.of(1) }))
  const keys = [recordKey, jobKey, idsKey].map((key) => key(job.model, job.id))
  await expect.poll(async () => await redis.exists(...keys)).toBe(0)
})
