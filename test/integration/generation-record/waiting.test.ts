import { expect, onTestFinished, test } from 'vitest'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createGenerationRecord, type Enqueueing } from '#libs/generation-record/generation-record.ts'
import {
  modelPrefix,
  requirementsKey,
  recordKey,
  waitingSumsKey,
  waitingExpiryKey,
  waitingKey,
} from '#libs/queue-redis/keys.ts'
import { createJobQueue } from '#libs/job-queue/job-queue.ts'
import {
  generationClaim,
  generationJob,
  generationEnqueue,
  enqueuePlace,
  queuedJob,
} from '../../support/generation-job.ts'
import { runs } from '../../support/long.ts'
import {
  arrive,
  arriveMany,
  claimId,
  hangUp,
  newModel,
  record,
  redis,
  useRecord,
} from './record-under-test.ts'

useRecord()

const MANY = 1_000_000

/** Expects that a model has no keys and no bytes of waiting generations. */
async function expectNothingWaits(model: string) {
  const counters = [requirementsKey, waitingSumsKey, waitingExpiryKey].map((key) => key(model))
  expect(await redis.exists(...counters)).toBe(0)
  expect(await keysOf(model, 'waiting:*')).toEqual([])
  expect(await record.waitingBytes(model)).toBe(0)
}

async function keysOf(model: string, pattern: string): Promise<string[]> {
  const keys: string[] = []
  let cursor = '0'
  do {
    const [next, found] = await redis.scan(
      cursor,
      'MATCH',
      `${modelPrefix(model)}${pattern}`,
      'COUNT',
      10_000,
    )
    keys.push(...found)
    cursor = next
  } while (cursor !== '0')
  return keys
}

test('the lowest tag goes first, whatever its needs; equal tags go in the order of arrival', async () => {
  const model = newModel()
  const arrived: string[] = []
  for (const [index, features] of [['chat'], ['chat', 'continue'], ['chat']].entries()) {
    const place = enqueuePlace({ accountId: `account-${index}` })
    // The ids are in descending order, so that the order of the ids does not decide.
    const job = generationJob({ model, id: `${9 - index}` })
    await record.enqueue(await generationEnqueue(job, { place, requirements: { features, window: 0 } }))
    arrived.push(job.id)
  }
  const late = await arrive(model, 'account-0')
  expect(late.enqueue).toMatchObject({ status: 'waiting', tag: 2, ahead: 3 })
  const served = []
  for (let turn = 0; turn < 5; turn += 1) served.push(await claimId(model))
  expect(served).toEqual([...arrived, late.id, null])
})

test('a later epoch goes before all that waits, and advances no tag', async () => {
  const model = newModel()
  const [first, second] = await arriveMany(model, 'account', 3)
  if (!first || !second) throw new Error('unreachable')
  await claimId(model)
  expect(await record.enqueue({ ...first.enqueueing, epoch: 2, tag: 1 })).toMatchObject({ tag: 0, ahead: 0 })
  expect(await claimId(model)).toBe(first.id)
  expect((await arrive(model, 'account')).enqueue).toMatchObject({ tag: 4 })
  expect((await arrive(model, 'newcomer')).enqueue).toMatchObject({ tag: 1 })
})

test('a generation with more than the allowed number ahead is refused and leaves nothing behind', async () => {
  const model = newModel()
  await arriveMany(model, 'flooder', 5)
  const before = await keysOf(model, '*')
  const refused = await arrive(model, 'flooder', { mostAhead: 4 })
  expect(refused.enqueue).toEqual({ status: 'busy', reason: 'queue', ahead: 5 })
  expect((await keysOf(model, '*')).toSorted()).toEqual(before.toSorted())
  expect((await arrive(model, 'flooder', { mostAhead: 5 })).enqueue).toMatchObject({
    status: 'waiting',
    tag: 6,
  })
  expect((await arrive(model, 'neighbour', { mostAhead: 1 })).enqueue).toMatchObject({
    status: 'waiting',
    tag: 1,
  })
})

test('only a first enqueue is refused', async () => {
  const model = newModel()
  const { enqueueing } = await arrive(model, 'account')
  await arriveMany(model, 'other', 5)
  const narrow: Partial<Enqueueing> = {
    place: enqueuePlace({ accountId: 'account', mostAhead: 0 }),
    bounds: { accountBytes: 0, modelBytes: 0 },
  }
  expect(await record.enqueue({ ...enqueueing, ...narrow })).toMatchObject({ status: 'waiting', tag: 1 })
  expect(await record.enqueue({ ...enqueueing, ...narrow, epoch: 2, tag: 1 })).toMatchObject({
    status: 'waiting',
  })
  const recreated = await generationEnqueue(generationJob({ model }), { ...narrow, tag: 3 })
  expect(await record.enqueue(recreated)).toMatchObject({ status: 'waiting', tag: 3 })
})

test('bytes of an account, and of the model, are admitted up to their bound and refused above', async () => {
  const model = newModel()
  const { enqueueing } = await arrive(model, 'account')
  const bytes = enqueueing.job.bytes
  const within = async (accountId: string, accountBytes: number, modelBytes: number) => {
    const place = enqueuePlace({ accountId })
    const job = generationJob({ model })
    return await record.enqueue(await generationEnqueue(job, { place, bounds: { accountBytes, modelBytes } }))
  }
  const busy = { status: 'busy', reason: 'bytes', ahead: 1 }
  expect(await within('account', 2 * bytes - 1, MANY)).toEqual(busy)
  expect(await within('neighbour', MANY, 2 * bytes - 1)).toEqual(busy)
  expect(await record.waitingBytes(model)).toBe(bytes)
  expect(await within('neighbour', bytes, 2 * bytes)).toMatchObject({ status: 'waiting' })
  expect(await within('account', 2 * bytes, 3 * bytes)).toMatchObject({ status: 'waiting' })
  expect(await record.waitingBytes(model)).toBe(3 * bytes)
})

test('a generation counts its bytes once while it waits, and gives them back when it is claimed', async () => {
  const model = newModel()
  const { enqueueing } = await arrive(model, 'account')
  const { bytes } = enqueueing.job
  await record.enqueue(enqueueing)
  await record.enqueue({ ...enqueueing, tag: 1 })
  await record.enqueue({ ...enqueueing, tag: 1, epoch: 2 })
  expect(await record.waitingBytes(model)).toBe(bytes)
  expect(await redis.hgetall(waitingSumsKey(model))).toEqual({ account: `${bytes} 1 1`, '': `${bytes} 1 1` })
  await claimId(model)
  await expectNothingWaits(model)
  await record.enqueue({ ...enqueueing, tag: 1, epoch: 3 })
  expect(await record.waitingBytes(model)).toBe(bytes)
})

test('a generation that is settled gives its bytes back once', async () => {
  const model = newModel()
  const { id, enqueueing } = await arrive(model, 'account')
  await arrive(model, 'account')
  await hangUp(model, id)
  await hangUp(model, id)
  await record.enqueue(enqueueing)
  expect(await record.waitingBytes(model)).toBe(enqueueing.job.bytes)
  expect(await redis.zcard(waitingExpiryKey(model))).toBe(1)
})

test('a set of needs is registered while something waits in it', async () => {
  const model = newModel()
  const ids = []
  for (const window of [0, 1_024, 1_024, 2_048]) {
    const job = generationJob({ model })
    await record.enqueue(await generationEnqueue(job, { requirements: { features: ['chat'], window } }))
    ids.push(job.id)
  }
  const registered = async () => (await redis.smembers(requirementsKey(model))).toSorted()
  expect(await registered()).toEqual(['chat', 'chat window:1024', 'chat window:2048'])
  expect(await redis.zcard(waitingKey(model, 'chat window:1024'))).toBe(2)
  await hangUp(model, ids[1] ?? '')
  await claimId(model)
  expect(await registered()).toEqual(['chat window:1024', 'chat window:2048'])
  await claimId(model)
  expect(await registered()).toEqual(['chat window:2048'])
})

test('what waits beyond deadline and grace no longer counts, although its owner is gone', async () => {
  const brief = createGenerationRecord({ redis, self: 'self-1', graceMs: 1 })
  const overdue = async (model: string) => {
    const job = generationJob({ model })
    const place = enqueuePlace({ accountId: 'gone', cost: 500 })
    await brief.enqueue(await generationEnqueue(job, { remainingMs: 0, place }))
    await expect.poll(async () => await redis.exists(recordKey(model, job.id))).toBe(0)
  }
  const model = newModel()
  await overdue(model)
  expect(await record.waitingBytes(model)).toBeGreaterThan(0)
  const { enqueue, enqueueing } = await arrive(model, 'gone', { mostAhead: 0 })
  expect(enqueue).toMatchObject({ status: 'waiting', tag: 1, ahead: 0 })
  expect(await record.waitingBytes(model)).toBe(enqueueing.job.bytes)

  const claimed = newModel()
  await overdue(claimed)
  expect(await claimId(claimed)).toBeNull()
  await expectNothingWaits(claimed)
})

/** Makes all waiting generations overdue, although their records exist. */
async function makeOverdue(model: string) {
  const members = await redis.zrange(waitingExpiryKey(model), '0', '-1')
  await redis.zadd(waitingExpiryKey(model), ...members.flatMap((member) => ['0', member]))
}

test('one call sweeps at most 64 overdue generations', async () => {
  const model = newModel()
  await arriveMany(model, 'account', 100)
  await makeOverdue(model)
  await record.claim(model, generationClaim({ serves: { features: [], window: 0 } }))
  expect(await redis.zcard(waitingExpiryKey(model))).toBe(36)
  await arrive(model, 'newcomer')
  expect(await redis.zcard(waitingExpiryKey(model))).toBe(1)
})

test('a swept generation that is enqueued again waits again', async () => {
  const model = newModel()
  const { id, enqueueing } = await arrive(model, 'account')
  await makeOverdue(model)
  expect(await record.enqueue({ ...enqueueing, tag: 1 })).toMatchObject({
    status: 'waiting',
    tag: 1,
    ahead: 0,
  })
  expect(await record.waitingBytes(model)).toBe(enqueueing.job.bytes)
  expect(await claimId(model)).toBe(id)
})

test('generations that are enqueued and hung up without a worker leave a bounded number of keys and no job', async () => {
  const model = newModel()
  const jobs = createJobQueue({ redis, countWaiting: createCountWaiting(redis) })
  onTestFinished(async () => await jobs.close())
  const cycle = async () => {
    const { id } = await arrive(model, 'account')
    const job = queuedJob(model, id)
    await jobs.add(job)
    const [{ waited }] = await Promise.all([hangUp(model, id), jobs.remove(job)])
    expect(waited).toBe(true)
  }
  const rounds = runs(30, 1_000)
  for (let round = 0; round < rounds; round += 1) await Promise.all(Array.from({ length: 100 }, cycle))

  // Settled records stay for a minute. No other keys may be left.
  const keys = await keysOf(model, '*')
  const lasting = keys.filter((key) => !key.startsWith(`${modelPrefix(model)}g:`))
  expect(keys.length - lasting.length).toBeGreaterThan(0)
  expect(lasting.length).toBeLessThan(12)
  await expectNothingWaits(model)
  expect(await redis.llen(`${modelPrefix(model)}generations:wait`)).toBe(0)
  expect(await redis.xlen(`${modelPrefix(model)}generations:events`)).toBeLessThan(200)
  expect((await arrive(model, 'account')).enqueue).toMatchObject({ ahead: 0 })
})
