import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { toOrphanReceipt } from '#libs/contracts/settlement-proof.ts'
import { idsKey, jobKey, modelPrefix, promptKey, waitingExpiryKey } from '#libs/queue-redis/keys.ts'
import { generationClaim, generationJob } from '../../support/generation-job.ts'
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
  orphans,
  settlements,
  withReceipt,
} from './record-under-test.ts'

useRecord()

test('a claim where nothing waits gets nothing', async () => {
  expect(await claim(generationJob())).toEqual({ status: 'nothing' })
})

test('one worker gets a generation, also when many ask at once', async () => {
  const job = await enqueued()
  const workers = Array.from({ length: 20 }, (_, index) => `worker-${index}`)
  const answers = await Promise.all(workers.map(async (worker) => await claim(job, { worker })))
  expect(answers.filter(({ status }) => status === 'claimed')).toHaveLength(1)
})

test('a claim says how many more wait that its worker serves', async () => {
  const job = await enqueued()
  for (const requirements of [['chat'], ['chat', 'continue'], ['unheard-of']]) {
    await enqueue(generationJob({ model: job.model }), {
      requirements: { features: requirements, window: 0 },
    })
  }
  const serves = { features: ['chat', 'continue'], window: 4_096 }
  const answers = [await claim(job, { serves }), await claim(job, { serves }), await claim(job, { serves })]
  expect(answers).toMatchObject([{ waiting: 2 }, { waiting: 1 }, { waiting: 0 }])
  expect(await redis.zcard(waitingExpiryKey(job.model))).toBe(1)
})

test('the last claim leaves nothing of what counts the waiting', async () => {
  const job = await enqueued()
  await claim(job)
  const prefix = modelPrefix(job.model)
  for (const name of ['requirements', 'waiting-expiry', 'waiting-sums', 'waiting:chat']) {
    expect(await redis.exists(`${prefix}${name}`)).toBe(0)
  }
})

test('a repeated claim gets the same generation, and another nonce the next one', async () => {
  const job = await enqueued()
  const next = generationJob({ model: job.model })
  await enqueue(next)
  const claiming = generationClaim()
  const first = await record.claim(job.model, claiming)
  expect(first).toMatchObject({ status: 'claimed', id: job.id })
  const again = await record.claim(job.model, claiming)
  expect(again).toEqual({
    ...first,
    remainingMs: expect.any(Number),
    waitedMs: expect.any(Number),
    waiting: 0,
  })
  expect(await claim(job)).toMatchObject({ id: next.id })
})

test('a nonce whose generation was settled gets nothing, although something waits', async () => {
  const claiming = generationClaim()
  const job = await enqueued()
  await record.claim(job.model, claiming)
  await record.settle(job.model, settlementOf(job), GATEWAY)
  await enqueue(generationJob({ model: job.model }))
  expect(await record.claim(job.model, claiming)).toEqual({ status: 'nothing' })
})

test('an old nonce gets nothing when its worker has claimed the same generation again', async () => {
  const first = generationClaim()
  const job = await enqueued()
  await record.claim(job.model, first)
  await enqueue(job, { epoch: 2, tag: 1 })
  expect(await claim(job)).toMatchObject({ epoch: 2 })
  expect(await record.claim(job.model, first)).toEqual({ status: 'nothing' })
})

test('a nonce is known for four minutes', async () => {
  const claiming = generationClaim()
  const job = await enqueued()
  await record.claim(job.model, claiming)
  const knownMs = await redis.pttl(`${modelPrefix(job.model)}n:${claiming.nonce}`)
  expect(knownMs).toBeGreaterThan(120_000)
  expect(knownMs).toBeLessThanOrEqual(240_000)
})

test('another worker does not get a generation by its nonce', async () => {
  const job = await claimed({ nonce: 'nonce-1' })
  expect(await claim(job, { worker: 'worker-2', nonce: 'nonce-1' })).toEqual({ status: 'nothing' })
})

test.for([
  { requirements: { features: ['embedding'], window: 0 }, why: 'kind' },
  { requirements: { features: ['chat', 'unheard-of'], window: 0 }, why: 'unknown word' },
  { requirements: { features: ['chat'], window: 4_097 }, why: 'window' },
])('a worker never gets what it does not serve: $why', async ({ requirements }) => {
  const job = generationJob()
  await enqueue(job, { requirements })
  expect(await claim(job)).toMatchObject({ status: 'nothing' })
  const serves = { features: ['chat', 'embedding', 'unheard-of'], window: 8_192 }
  expect(await claim(job, { serves })).toMatchObject({ status: 'claimed', id: job.id })
})

test('what a worker does not serve does not hold up what it serves', async () => {
  const job = generationJob()
  await enqueue(job, { requirements: { features: ['unheard-of'], window: 0 } })
  const served = generationJob({ model: job.model })
  await enqueue(served, { requirements: { features: ['chat'], window: 4_096 } })
  expect(await claim(job)).toMatchObject({ id: served.id })
})

test('a claim says how long it waited, by the clock of Redis', async () => {
  const beganMs = await record.redisTimeMs()
  const job = await enqueued()
  await expect.poll(record.redisTimeMs).toBeGreaterThan(beganMs + 20)
  const answer = await claim(job)
  const mostMs = (await record.redisTimeMs()) - beganMs
  const { waitedMs } = answer.status === 'claimed' ? answer : { waitedMs: -1 }
  expect(waitedMs).toBeGreaterThan(0)
  expect(waitedMs).toBeLessThanOrEqual(mostMs)
})

test('a generation whose deadline has passed is still handed out', async () => {
  const job = generationJob()
  await enqueue(job, { remainingMs: -1_000 })
  const answer = await claim(job)
  expect(answer.status === 'claimed' && answer.remainingMs).toBeLessThanOrEqual(-1_000)
})

test('generations of buried gateways are settled at 0 as they are met, however many', async () => {
  const model = `model-${randomUUID()}`
  const ended = Array.from({ length: 150 }, () => generationJob({ model, gateway: 'gateway-dead' }))
  for (const orphan of ended) await enqueue(withReceipt(orphan))
  const living = generationJob({ model, gateway: 'gateway-alive' })
  await enqueue(living)
  expect(await claim(living, { buried: ['gateway-other', 'gateway-dead'] })).toMatchObject({ id: living.id })

  expect(await settlements(model)).toEqual([])
  expect(await orphans(model)).toEqual(
    ended.map(({ id }) => ({
      id,
      epoch: 1,
      outcome: 'fault',
      promptTokens: 0,
      cachedTokens: 0,
      completionTokens: 0,
      by: 'self-1',
      orphanOf: 'gateway-dead',
      receipt: toOrphanReceipt('payload.bWFj', 'gateway-dead'),
      timing: { ...decodeTiming(''), waitedMs: expect.any(Number) },
    })),
  )
  expect(await enqueue(ended[0] ?? living)).toEqual({ status: 'settled' })
})

test('a job that cannot be parsed is handed out with what the worker needs to decline it', async () => {
  const answer = { epoch: 1, gateway: 'gateway-1', stream: 1 }
  const stored = { isRequestApart: false, idCount: 0, promptTokens: null, job: { hold: 7 } }
  for (const text of [JSON.stringify(stored), '{}', 'no JSON', '7']) {
    const job = await enqueued()
    await redis.set(jobKey(job.model, job.id), text)
    expect(await claim(job)).toEqual({ status: 'unreadable', id: job.id, ...answer })
  }
  const damaged = await enqueued({ request: largeRequest() })
  await redis.set(promptKey(damaged.model, damaged.id), 'not compressed')
  expect(await claim(damaged)).toEqual({ status: 'unreadable', id: damaged.id, ...answer })
})

test('unknown fields of a job are ignored', async () => {
  const job = await enqueued()
  const text = (await redis.get(jobKey(job.model, job.id))) ?? ''
  expect(text).toContain('"hold":{')
  await redis.set(jobKey(job.model, job.id), text.replaceAll('{"', '{"ofTheNextRelease":true,"'))
  expect(await claim(job)).toMatchObject({ status: 'claimed', job })
})

test('a generation of which a part is missing is handed out as incomplete, and its next epoch is complete', async () => {
  const ids = Uint32Array.of(1, 2)
  for (const missing of [jobKey, promptKey, idsKey]) {
    const job = generationJob({ request: largeRequest() })
    await enqueue(job, { epoch: 2, tag: 1, ids })
    await redis.del(missing(job.model, job.id))
    expect(await claim(job)).toEqual({
      status: 'incomplete',
      id: job.id,
      epoch: 2,
      gateway: 'gateway-1',
      stream: 1,
    })
    await enqueue(job, { epoch: 3, tag: 1, ids })
    expect(await claim(job)).toMatchObject({ status: 'claimed', epoch: 3, job, ids })
  }
})
