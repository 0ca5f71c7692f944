import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { settlementMarkKey, settlementStateKey } from '#libs/queue-redis/keys.ts'
import { generationClaim, generationJob, generationEnqueue } from '../../support/generation-job.ts'
import { createRedis } from '../../support/redis.ts'
import {
  redis,
  record,
  useRecord,
  GATEWAY,
  settlementOf,
  enqueue,
  enqueued,
  largeRequest,
} from './record-under-test.ts'

useRecord()

test('billing’s mark is read together with the run id, and one of another run does not count', async () => {
  const model = `model-${randomUUID()}`
  const server = /run_id:(\w+)/.exec(await redis.info('server'))?.[1] ?? ''
  const replication = /master_replid:(\w+)/.exec(await redis.info('replication'))?.[1] ?? ''
  const runId = `${server}:${replication}:`
  expect(await record.readMark(model)).toEqual({ runId, committedMs: null })
  await redis.set(settlementMarkKey(model), `${runId} 1700000000123`)
  expect(await record.readMark(model)).toEqual({ runId, committedMs: 1_700_000_000_123 })
  await redis.hset(settlementStateKey(model), 'incarnation', 'another')
  expect(await record.readMark(model)).toEqual({ runId: `${runId}another`, committedMs: null })
})

test('a worker reads which generations are settled or gone', async () => {
  const waiting = await enqueued()
  const { model } = waiting
  const settled = generationJob({ model })
  await enqueue(settled)
  await record.settle(model, settlementOf(settled), GATEWAY)
  const unknown = Array.from({ length: 300 }, () => randomUUID())
  const found = await record.settledOf(model, [waiting.id, ...unknown, settled.id])
  expect(found).toEqual(new Set([...unknown, settled.id]))
  expect(await record.settledOf(model, [])).toEqual(new Set())
})

test('the time is that of Redis', async () => {
  const [seconds] = await redis.time()
  const readMs = await record.redisTimeMs()
  expect(readMs - Number(seconds) * 1_000).toBeGreaterThanOrEqual(0)
  expect(readMs - Number(seconds) * 1_000).toBeLessThan(10_000)
})

test('while memory is full new work is refused, and what was admitted is claimed, enqueued and settled', async () => {
  const server = await createRedis()
  const full = new Redis(server.url)
  try {
    const own = createGenerationRecord({ redis: full, self: 'self-1', graceMs: 60_000 })
    const model = `model-${randomUUID()}`
    const [running, waiting, refused, lost] = [0, 0, 0, 0].map(() => generationJob({ model }))
    if (!running || !waiting || !refused || !lost) throw new Error('unreachable')
    await own.enqueue(await generationEnqueue(running))
    await own.enqueue(await generationEnqueue(waiting))
    await full.config('SET', 'maxmemory', '1')

    await expect(own.enqueue(await generationEnqueue(refused))).rejects.toThrow(/OOM/)
    expect(await own.claim(model, generationClaim())).toMatchObject({ status: 'claimed', id: running.id })
    expect(await own.enqueue(await generationEnqueue(waiting, { tag: 2 }))).toMatchObject({
      status: 'waiting',
    })
    const later = await generationEnqueue(running, { epoch: 2, tag: 1, ids: Uint32Array.of(1, 2, 3) })
    expect(await own.enqueue(later)).toMatchObject({ status: 'waiting' })
    expect(await own.enqueue(await generationEnqueue(lost, { tag: 3 }))).toMatchObject({ status: 'waiting' })
    expect(await own.claim(model, generationClaim())).toMatchObject({ status: 'claimed', epoch: 2 })
    expect(await own.settle(model, settlementOf(running, 2), GATEWAY)).toMatchObject({ status: 'recorded' })
    expect(await own.settle(model, settlementOf(waiting), GATEWAY)).toMatchObject({ waited: true })
    expect((await own.readMark(model)).committedMs).toBeNull()
    expect(await own.settledOf(model, [running.id, lost.id])).toEqual(new Set([running.id]))

    await full.config('SET', 'maxmemory', '0')
    expect(await own.enqueue(await generationEnqueue(refused))).toMatchObject({ status: 'waiting' })
  } finally {
    full.disconnect()
    await server.stop()
  }
})

test('a server that was emptied receives the scripts and the record again', async () => {
  const server = await createRedis()
  const client = new Redis(server.url)
  try {
    const own = createGenerationRecord({ redis: client, self: 'self-1', graceMs: 60_000 })
    const job = generationJob({ request: largeRequest() })
    const first = await generationEnqueue(job)
    expect(await own.enqueue(first)).toMatchObject({ tag: 1 })
    await own.claim(job.model, generationClaim())
    await client.flushall()
    await client.script('FLUSH')
    expect(await own.claim(job.model, generationClaim())).toEqual({ status: 'nothing' })
    const ids = Uint32Array.of(5, 6)
    expect(await own.enqueue({ ...first, epoch: 2, tag: 1, ids, promptTokens: 3 })).toMatchObject({
      status: 'waiting',
    })
    const again = await own.claim(job.model, generationClaim())
    expect(again).toMatchObject({ status: 'claimed', epoch: 2, job, ids, promptTokens: 3 })
  } finally {
    client.disconnect()
    await server.stop()
  }
})
