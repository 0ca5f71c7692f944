import { randomBytes, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ZodError } from 'zod'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import { Settlement } from '#libs/contracts/settlement.ts'
import { createGenerationRecord, type GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { promptKey, recordKey, settlementStreamKey, waitingKey } from '#libs/generation-record/keys.ts'
import { generationJob } from '../../support/generation-job.ts'
import { createRedis, sharedRedis } from '../../support/redis.ts'

let redis: Redis
let record: GenerationRecord

beforeAll(() => {
  redis = new Redis(sharedRedis())
  record = createGenerationRecord({ redis, self: 'gateway-1', graceMs: 60_000, nowMs: () => Date.now() })
})

afterAll(() => redis.disconnect())

const USAGE = { promptTokens: 7, cachedTokens: 0, completionTokens: 3 }

async function settlements(model: string): Promise<Settlement[]> {
  const entries = await redis.xrange(settlementStreamKey(model), '-', '+')
  return entries.map(([, fields]) => {
    const pairs: [string, string][] = []
    for (let at = 0; at < fields.length; at += 2) pairs.push([fields[at] ?? '', fields[at + 1] ?? ''])
    return Settlement.parse(Object.fromEntries(pairs))
  })
}

async function opened(fields: Partial<ChatJob> = {}): Promise<ChatJob> {
  const job = generationJob(fields)
  expect(await record.open(job, 2)).toEqual({ status: 'opened' })
  return job
}

test('a worker claims a generation that a gateway opened, with the whole job', async () => {
  const job = await opened()
  expect(await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')).toEqual({
    status: 'claimed',
    job,
  })
})

test('a large prompt is stored compressed beside the record and deleted with the settlement', async () => {
  const content = randomBytes(20_000).toString('hex')
  const job = await opened({
    request: { ...generationJob().request, messages: [{ role: 'user', content }] },
  })
  const inRecord = await redis.hget(recordKey(job.model, job.id), 'job')
  expect(inRecord?.length).toBeLessThan(1_000)
  expect(await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')).toEqual({
    status: 'claimed',
    job,
  })

  await record.settle(job.model, { id: job.id, epoch: 1, outcome: 'completed', ...USAGE })
  expect(await redis.exists(promptKey(job.model, job.id))).toBe(0)
  expect(await redis.hexists(recordKey(job.model, job.id), 'job')).toBe(0)
})

test('only one worker gets an epoch, and it may repeat its claim', async () => {
  const job = await opened()
  const ticket = { id: job.id, epoch: 1 }
  expect((await record.claim(job.model, ticket, 'worker-1')).status).toBe('claimed')
  expect(await record.claim(job.model, ticket, 'worker-2')).toEqual({ status: 'taken' })
  expect((await record.claim(job.model, ticket, 'worker-1')).status).toBe('claimed')
})

test('a generation that is cancelled while it waits is settled at 0 and never runs', async () => {
  const job = await opened()
  expect(await record.cancel(job.model, job.id)).toEqual({ status: 'released' })
  expect(await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')).toEqual({ status: 'settled' })
  expect(await settlements(job.model)).toEqual([
    {
      id: job.id,
      epoch: 1,
      outcome: 'never-ran',
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      by: 'gateway-1',
    },
  ])
  expect(await redis.zcard(waitingKey(job.model))).toBe(0)
  expect(await record.cancel(job.model, job.id)).toEqual({ status: 'settled' })
})

test('cancelling a running generation returns its worker, which settles it', async () => {
  const job = await opened()
  await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')
  expect(await record.cancel(job.model, job.id)).toEqual({ status: 'claimed', worker: 'worker-1' })
  expect(await settlements(job.model)).toEqual([])
  expect(await record.settle(job.model, { id: job.id, epoch: 1, outcome: 'cancelled', ...USAGE })).toBe(
    'recorded',
  )
})

test('cancelling an unknown generation leaves a tombstone that a late open finds', async () => {
  const job = generationJob()
  expect(await record.cancel(job.model, job.id)).toEqual({ status: 'released' })
  expect(await record.open(job, 2)).toEqual({ status: 'settled' })
  expect(await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')).toEqual({ status: 'settled' })
  expect(await settlements(job.model)).toHaveLength(1)
  expect(await redis.pttl(recordKey(job.model, job.id))).toBeGreaterThan(0)
})

test('a repeated open changes nothing and returns the state of the record', async () => {
  const job = await opened()
  expect(await record.open(job, 2)).toEqual({ status: 'waiting' })
  expect(await redis.zcard(waitingKey(job.model))).toBe(1)
  await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')
  expect(await record.open(job, 2)).toEqual({ status: 'claimed', worker: 'worker-1' })
  await record.settle(job.model, { id: job.id, epoch: 1, outcome: 'completed', ...USAGE })
  expect(await record.open(job, 2)).toEqual({ status: 'settled' })
})

test('a job that cannot be read is a ZodError, not a claim', async () => {
  const job = await opened()
  await redis.hset(recordKey(job.model, job.id), 'job', '{"id":7}')
  const claim = record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')
  await expect(claim).rejects.toThrow(ZodError)
})

test('the first settlement of the current epoch wins', async () => {
  const job = await opened()
  await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')
  const settlement = { id: job.id, epoch: 1, outcome: 'completed', ...USAGE } as const
  expect(await record.settle(job.model, settlement)).toBe('recorded')
  expect(await record.settle(job.model, { ...settlement, completionTokens: 99 })).toBe('settled')
  expect(await settlements(job.model)).toEqual([{ ...settlement, by: 'gateway-1' }])
})

test('after a raise only the new epoch can be claimed and settled', async () => {
  const job = await opened()
  await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')
  const dearer = { ...job, hold: { ...job.hold, amountNano: '5' } }
  expect(await record.raise(dearer, { epoch: 1, keepJob: false })).toEqual({ status: 'raised', epoch: 2 })

  expect(await record.claim(job.model, { id: job.id, epoch: 1 }, 'worker-1')).toEqual({ status: 'stale' })
  expect(await record.settle(job.model, { id: job.id, epoch: 1, outcome: 'completed', ...USAGE })).toBe(
    'stale',
  )
  expect(await record.raise(job, { epoch: 1, keepJob: true })).toEqual({ status: 'stale' })
  expect(await record.claim(job.model, { id: job.id, epoch: 2 }, 'worker-2')).toEqual({
    status: 'claimed',
    job: dearer,
  })
  expect(await record.settle(job.model, { id: job.id, epoch: 2, outcome: 'completed', ...USAGE })).toBe(
    'recorded',
  )
})

test('a settled or cancelled generation is not raised', async () => {
  const settled = await opened()
  await record.claim(settled.model, { id: settled.id, epoch: 1 }, 'worker-1')
  await record.settle(settled.model, { id: settled.id, epoch: 1, outcome: 'fault', ...USAGE })
  expect(await record.raise(settled, { epoch: 1, keepJob: true })).toEqual({ status: 'settled' })

  const cancelled = await opened()
  await record.claim(cancelled.model, { id: cancelled.id, epoch: 1 }, 'worker-1')
  await record.cancel(cancelled.model, cancelled.id)
  expect(await record.raise(cancelled, { epoch: 1, keepJob: true })).toEqual({ status: 'cancelled' })
  expect(await record.raise(generationJob(), { epoch: 1, keepJob: true })).toEqual({ status: 'gone' })
})

test('a settlement whose record has expired is still recorded for billing', async () => {
  const model = `model-${randomUUID()}`
  expect(await record.settle(model, { id: 'late', epoch: 1, outcome: 'completed', ...USAGE })).toBe(
    'recorded',
  )
  expect(await settlements(model)).toHaveLength(1)
})

test('claim, settle and cancel work while Redis is out of memory', async () => {
  const server = await createRedis()
  const full = new Redis(server.url)
  try {
    const own = createGenerationRecord({
      redis: full,
      self: 'gateway-1',
      graceMs: 60_000,
      nowMs: () => Date.now(),
    })
    const running = generationJob()
    const waiting = generationJob()
    await own.open(running, 2)
    await own.open(waiting, 2)
    await full.config('SET', 'maxmemory', '1')

    await expect(own.open(generationJob(), 2)).rejects.toThrow(/OOM/)
    expect((await own.claim(running.model, { id: running.id, epoch: 1 }, 'worker-1')).status).toBe('claimed')
    const settlement = { id: running.id, epoch: 1, outcome: 'completed', ...USAGE } as const
    expect(await own.settle(running.model, settlement)).toBe('recorded')
    expect(await own.cancel(waiting.model, waiting.id)).toEqual({ status: 'released' })
  } finally {
    full.disconnect()
    await server.stop()
  }
})
