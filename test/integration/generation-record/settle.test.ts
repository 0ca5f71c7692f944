import { setImmediate } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { toOrphanReceipt } from '#libs/contracts/settlement-proof.ts'
import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { idsKey, jobKey, promptKey, recordKey } from '#libs/queue-redis/keys.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { generationJob, generationEnqueue } from '../../support/generation-job.ts'
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
  settlements,
  orphans,
  withReceipt,
} from './record-under-test.ts'

useRecord()

test('a gateway settles a running generation once, and learns which worker to stop each time', async () => {
  const job = await claimed({ worker: 'worker-2' })
  const settlement = { ...settlementOf(job), timing: decodeTiming('14200,124,410,5900,stop,,0,1') }
  const answer = { worker: 'worker-2', waited: false }
  expect(await record.settle(job.model, settlement, GATEWAY)).toEqual({ status: 'recorded', ...answer })
  const other = { ...settlement, completionTokens: 99 }
  expect(await record.settle(job.model, other, GATEWAY)).toEqual({ status: 'settled', ...answer })
  expect(await redis.hget(recordKey(job.model, job.id), 'usage')).toBe('7 0 3')
})

test('every settlement of a gateway reaches billing, whatever somebody has written into the record', async () => {
  const job = await claimed({ worker: 'worker-2' })
  const settlement = settlementOf(job)
  await redis.hset(recordKey(job.model, job.id), { settled: 'completed', usage: '7 0 3', epoch: 99 })
  expect(await record.settle(job.model, settlement, GATEWAY)).toMatchObject({ status: 'settled' })
  await redis.hdel(recordKey(job.model, job.id), 'settled')
  expect(await record.settle(job.model, settlement, GATEWAY)).toMatchObject({ status: 'stale' })
  const entry = { ...settlement, by: 'self-1' }
  expect(await settlements(job.model)).toEqual([entry, entry])
})

test('a settlement ends a generation that waits, and says so each time', async () => {
  const job = await enqueued()
  const settlement = { ...settlementOf(job), outcome: 'never-ran' } as const
  const answer = { worker: null, waited: true }
  expect(await record.settle(job.model, settlement, GATEWAY)).toEqual({ status: 'recorded', ...answer })
  expect(await record.settle(job.model, settlement, GATEWAY)).toEqual({ status: 'settled', ...answer })
  expect(await claim(job)).toEqual({ status: 'nothing' })
})

test('a settlement of an unknown generation leaves a tombstone that a late enqueue meets', async () => {
  const job = generationJob()
  const answer = { status: 'recorded', worker: null, waited: false }
  expect(await record.settle(job.model, settlementOf(job), GATEWAY)).toEqual(answer)
  expect(await redis.pttl(recordKey(job.model, job.id))).toBeGreaterThan(0)
  expect(await redis.pttl(recordKey(job.model, job.id))).toBeLessThanOrEqual(60_000)
  expect(await enqueue(job)).toEqual({ status: 'settled' })
  expect(await settlements(job.model)).toHaveLength(1)
})

test('a gateway that is ahead of the record settles it', async () => {
  const job = await claimed({ worker: 'worker-1' })
  expect(await record.settle(job.model, settlementOf(job, 2), GATEWAY)).toEqual({
    status: 'recorded',
    worker: 'worker-1',
    waited: false,
  })
})

test('a settlement of an epoch before the record’s is stale', async () => {
  const job = await claimed()
  await enqueue(job, { epoch: 2, tag: 1 })
  const stale = { status: 'stale', worker: null, waited: false }
  expect(await record.settle(job.model, settlementOf(job), GATEWAY)).toEqual(stale)
  expect(await claim(job)).toMatchObject({ epoch: 2 })
})

test('a worker settles only what it has claimed, in the epoch in which it claimed it', async () => {
  const stale = { status: 'stale', worker: null, waited: false }
  const own = { role: 'worker', worker: 'worker-1' } as const
  const job = withReceipt(generationJob())
  await enqueue(job)
  expect(await record.settle(job.model, settlementOf(job), own)).toEqual(stale)
  await claim(job)
  expect(await record.settle(job.model, settlementOf(job, 2), own)).toEqual(stale)
  expect(await record.settle(job.model, settlementOf(job), { ...own, worker: 'worker-2' })).toEqual(stale)
  await enqueue(job, { epoch: 2, tag: 1 })
  expect(await record.settle(job.model, settlementOf(job), own)).toEqual(stale)
  await claim(job)
  expect(await record.settle(job.model, settlementOf(job), own)).toEqual(stale)
  expect(await orphans(job.model)).toEqual([])
  expect(await record.settle(job.model, settlementOf(job, 2), own)).toMatchObject({ status: 'recorded' })
  // Whatever the worker says, billing gets a settlement free of charge, with no proof but that of the job.
  const free = { outcome: 'fault', promptTokens: 0, cachedTokens: 0, completionTokens: 0, by: 'self-1' }
  const receipt = toOrphanReceipt(job.hold.receipt, 'gateway-1')
  expect(await orphans(job.model)).toEqual([
    { id: job.id, epoch: 2, ...free, orphanOf: 'gateway-1', receipt },
  ])
  expect(await settlements(job.model)).toEqual([])
  expect(await record.settle(job.model, settlementOf(generationJob()), own)).toEqual(stale)
})

test('after a settlement only the settled record is left, for a minute', async () => {
  const job = await enqueued({ request: largeRequest() })
  await claim(job)
  await enqueue(job, { epoch: 2, tag: 1, ids: Uint32Array.of(1) })
  await claim(job)
  await record.settle(job.model, settlementOf(job, 2), GATEWAY)
  const parts = [jobKey, promptKey, idsKey].map((key) => key(job.model, job.id))
  expect(await redis.exists(...parts)).toBe(0)
  const key = recordKey(job.model, job.id)
  expect(await redis.hgetall(key)).toMatchObject({
    settled: 'completed',
    epoch: '2',
    usage: '7 0 3',
    worker: 'worker-1',
  })
  expect(await redis.object('ENCODING', key)).toBe('listpack')
  expect(await redis.pttl(key)).toBeGreaterThan(0)
  expect(await redis.pttl(key)).toBeLessThanOrEqual(60_000)
})

test('a settlement is sent together with the next command of its connection', async () => {
  // These calls load both scripts into the server.
  const before = await enqueued()
  const { model } = before
  await record.settle(model, settlementOf(before), GATEWAY)
  const own = await connectRedis({
    place: { mode: 'single', url: sharedRedis() },
    name: 'settle',
    patience: 'fail-fast',
    log: pino({ level: 'silent' }),
  })
  onTestFinished(() => own.disconnect())
  // With fake timers the 20 ms never pass, even on a slow machine.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const ownRecord = createGenerationRecord({ redis: own, self: 'self-1', graceMs: 60_000 })
  const enqueueing = await generationEnqueue(generationJob({ model }))
  const [single, several] = [vi.spyOn(own.stream, '_write'), vi.spyOn(own.stream, '_writev')]

  const settling = ownRecord.settle(model, settlementOf(generationJob({ model })), GATEWAY)
  await setImmediate()
  expect(single).not.toHaveBeenCalled()
  const answers = await Promise.all([settling, ownRecord.enqueue(enqueueing)])
  expect(answers.map(({ status }) => status)).toEqual(['recorded', 'waiting'])
  expect(several).toHaveBeenCalledOnce()
  expect(single).not.toHaveBeenCalled()
})
