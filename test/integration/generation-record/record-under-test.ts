import { randomBytes, randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect } from 'vitest'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import { Settlement } from '#libs/contracts/settlement.ts'
import {
  createGenerationRecord,
  type Claim,
  type Claiming,
  type GenerationRecord,
  type EnqueueAnswer,
  type Enqueueing,
  type Place,
} from '#libs/generation-record/generation-record.ts'
import { orphansKey, settlementStreamKey } from '#libs/queue-redis/keys.ts'
import {
  generationClaim,
  generationJob,
  generationEnqueue,
  enqueuePlace,
} from '../../support/generation-job.ts'
import { sharedRedis } from '../../support/redis.ts'

export let redis: Redis
export let record: GenerationRecord

/** Opens `redis` and `record` for the tests of a file. */
export function useRecord(): void {
  beforeAll(() => {
    redis = new Redis(sharedRedis())
    record = createGenerationRecord({ redis, self: 'self-1', graceMs: 60_000 })
  })
  afterAll(() => redis.disconnect())
}

export const GATEWAY = { role: 'gateway' } as const
const USAGE = { promptTokens: 7, cachedTokens: 0, completionTokens: 3 }

export const settlementOf = (job: ChatJob, epoch = 1) =>
  ({ id: job.id, epoch, outcome: 'completed', ...USAGE, receipt: 'receipt' }) as const

export async function enqueue(job: ChatJob, fields: Partial<Enqueueing> = {}): Promise<EnqueueAnswer> {
  return await record.enqueue(await generationEnqueue(job, fields))
}

export async function claim(job: ChatJob, fields: Partial<Claiming> = {}): Promise<Claim> {
  return await record.claim(job.model, generationClaim(fields))
}

/** Enqueues a job for a new model, so that it waits there alone. */
export async function enqueued(fields: Partial<ChatJob> = {}): Promise<ChatJob> {
  const job = generationJob(fields)
  expect(await enqueue(job)).toMatchObject({ status: 'waiting', tag: 1, ahead: 0 })
  return job
}

/** Enqueues a job for a new model and lets a worker claim it. */
export async function claimed(fields: Partial<Claiming> = {}): Promise<ChatJob> {
  const job = await enqueued()
  expect(await claim(job, fields)).toMatchObject({ status: 'claimed', id: job.id })
  return job
}

export const largeRequest = () => ({
  ...generationJob().request,
  messages: [{ role: 'user' as const, content: randomBytes(20_000).toString('hex') }],
})

/** Returns a model's settlement entries for billing. */
export async function settlements(model: string): Promise<Settlement[]> {
  const entries = await redis.xrange(settlementStreamKey(model), '-', '+')
  return entries.map(([, fields]) => {
    const pairs: [string, string][] = []
    for (let at = 0; at < fields.length; at += 2) pairs.push([fields[at] ?? '', fields[at + 1] ?? ''])
    return Settlement.parse(Object.fromEntries(pairs))
  })
}

/** Returns what workers left for billing about generations whose gateways are dead. */
export async function orphans(model: string): Promise<Settlement[]> {
  const texts = await redis.lrange(orphansKey(model), 0, -1)
  return texts.map((text) => {
    const pairs = text.split('\n').map((line): [string, string] => {
      const at = line.indexOf('=')
      return [line.slice(0, at), line.slice(at + 1)]
    })
    return Settlement.parse(Object.fromEntries(pairs))
  })
}

/** Gives the job a receipt, without which nothing is left about an orphan. */
export const withReceipt = (job: ChatJob): ChatJob => ({
  ...job,
  hold: { ...job.hold, receipt: 'payload.bWFj' },
})

const NEVER_RAN = { outcome: 'never-ran', promptTokens: 0, cachedTokens: 0, completionTokens: 0 } as const

/** Enqueues a new generation for the first time. */
export async function arrive(model: string, accountId: string, fields: Partial<Place> = {}) {
  const job = generationJob({ model })
  const enqueueing = await generationEnqueue(job, { place: enqueuePlace({ accountId, ...fields }) })
  return { id: job.id, enqueueing, enqueue: await record.enqueue(enqueueing) }
}

/** Enqueues as many generations of an account, one after the other, as `arrive` does. */
export async function arriveMany(model: string, account: string | Partial<Place>, count: number) {
  const { accountId = '', ...fields } = typeof account === 'string' ? { accountId: account } : account
  const arrived = []
  for (let turn = 0; turn < count; turn += 1) arrived.push(await arrive(model, accountId, fields))
  return arrived
}

export async function claimId(model: string): Promise<string | null> {
  const claim = await record.claim(model, generationClaim())
  return claim.status === 'claimed' ? claim.id : null
}

/** Ends a generation that never ran. */
export const hangUp = async (model: string, id: string, epoch = 1) =>
  await record.settle(model, { id, epoch, ...NEVER_RAN }, { role: 'gateway' })

export const newModel = () => `model-${randomUUID()}`
