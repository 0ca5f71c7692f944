import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import {
  createGenerationRecord,
  type Lifting,
  type Place,
} from '#libs/generation-record/generation-record.ts'
import {
  finishKey,
  modelPrefix,
  needsKey,
  recordKey,
  virtualTimeKey,
  waitingSumsKey,
  waitingExpiryKey,
  waitingKey,
} from '#libs/generation-record/keys.ts'
import { createJobQueue } from '#libs/job-queue/job-queue.ts'
import {
  generationClaim,
  generationJob,
  generationLift,
  liftPlace,
  queuedJob,
} from '../../support/generation-job.ts'
import { runs } from '../../support/long.ts'
import { record, redis, useRecord } from './record-under-test.ts'

useRecord()

const NEVER_RAN = { outcome: 'never-ran', promptTokens: 0, cachedTokens: 0, completionTokens: 0 } as const
const MANY = 1_000_000

/** Lifts a new generation for the first time. */
async function arrive(model: string, accountId: string, fields: Partial<Place> = {}) {
  const job = generationJob({ model })
  const lifting = await generationLift(job, { place: liftPlace({ accountId, ...fields }) })
  return { id: job.id, lifting, lift: await record.lift(lifting) }
}

async function arriveMany(model: string, accountId: string, count: number, fields: Partial<Place> = {}) {
  const arrived = []
  for (let turn = 0; turn < count; turn += 1) arrived.push(await arrive(model, accountId, fields))
  return arrived
}

async function claimId(model: string): Promise<string | null> {
  const claim = await record.claim(model, generationClaim())
  return claim.status === 'nothing' ? null : claim.id
}

const hangUp = async (model: string, id: string, epoch = 1) =>
  await record.settle(model, { id, epoch, ...NEVER_RAN }, { role: 'gateway' })

const newModel = () => `model-${randomUUID()}`

/** Expects that a model has no keys and no bytes of waiting generations. */
async function expectNothingWaits(model: string) {
  const counters = [needsKey, waitingSumsKey, waitingExpiryKey].map((key) => key(model))
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

test('a flooding account waits behind its own generations, another account only behind the first of them', async () => {
  const model = newModel()
  const flood = await arriveMany(model, 'flooder', 50)
  expect(flood.map(({ lift }) => lift)).toEqual(
    flood.map((_, turn) => ({ status: 'waiting', tag: turn + 1, ahead: turn, costAhead: turn })),
  )
  const neighbour = await arrive(model, 'neighbour')
  expect(neighbour.lift).toMatchObject({ status: 'waiting', tag: 1, ahead: 1 })
  expect([await claimId(model), await claimId(model)]).toEqual([flood[0]?.id, neighbour.id])
})

test('accounts get tokens in the ratio of their weights, whatever their requests cost', async () => {
  const model = newModel()
  const costs = new Map<string, { account: string; cost: number }>()
  for (let turn = 0; turn < 80; turn += 1) {
    const heavy = { weight: 3, cost: 100 + (turn % 7) * 50 }
    costs.set((await arrive(model, 'heavy', heavy)).id, { account: 'heavy', cost: heavy.cost })
    const light = { weight: 1, cost: 10 + (turn % 5) * 100 }
    costs.set((await arrive(model, 'light', light)).id, { account: 'light', cost: light.cost })
  }
  const served = new Map<string, number>()
  for (let turn = 0; turn < 80; turn += 1) {
    const { account, cost } = costs.get((await claimId(model)) ?? '') ?? { account: '', cost: 0 }
    served.set(account, (served.get(account) ?? 0) + cost)
  }
  const ratio = (served.get('heavy') ?? 0) / (served.get('light') ?? 0)
  expect(ratio).toBeGreaterThan(3 * 0.95)
  expect(ratio).toBeLessThan(3 * 1.05)
})

/** Ends a claimed generation after it has used so many tokens. */
async function end(model: string, id: string, promptTokens: number, completionTokens: number) {
  const usage = { promptTokens, cachedTokens: 0, completionTokens }
  const settlement = { id, epoch: 1, outcome: 'completed', ...usage } as const
  return await record.settle(model, settlement, { role: 'gateway' })
}

test('a settlement replaces the expected cost by the used tokens, once', async () => {
  const model = newModel()
  await arrive(model, 'account', { cost: 100, weight: 2 })
  const id = (await claimId(model)) ?? ''
  await end(model, id, 30, 50)
  await end(model, id, 3_000, 5_000)
  expect((await arrive(model, 'account', { cost: 10 })).lift).toMatchObject({ tag: 1 + 80 / 2 })
})

test('a generation that used more than the virtual time has passed puts its account behind it again', async () => {
  const model = newModel()
  const first = await arrive(model, 'account', { cost: 100 })
  await claimId(model)
  await arriveMany(model, 'other', 2, { cost: 100_000 })
  await claimId(model)
  await claimId(model)
  // Forgets the finish tag of the account.
  await arrive(model, 'newcomer')
  await end(model, first.id, 100_000, 300_000)
  expect((await arrive(model, 'account')).lift).toMatchObject({ tag: 400_001 })
})

test('the fixed cost of a generation that ran is not given back, and that of one that never ran is', async () => {
  const model = newModel()
  const ran = await arrive(model, 'account', { cost: 100, fixedCost: 40 })
  const never = await arrive(model, 'account', { cost: 100, fixedCost: 40 })
  await claimId(model)
  await end(model, ran.id, 10, 5)
  await hangUp(model, never.id)
  expect((await arrive(model, 'account')).lift).toMatchObject({ tag: 1 + 55 })
})

test('a continuation of a lost run costs nothing more', async () => {
  const model = newModel()
  const { id, lifting } = await arrive(model, 'account', { cost: 100 })
  await claimId(model)
  await record.lift({ ...lifting, epoch: 2, tag: 1 })
  await claimId(model)
  await record.lift({ ...lifting, epoch: 3, tag: 1 })
  const usage = { promptTokens: 60, cachedTokens: 0, completionTokens: 20 }
  await record.settle(model, { id, epoch: 3, outcome: 'cancelled', ...usage }, { role: 'gateway' })
  expect((await arrive(model, 'account')).lift).toMatchObject({ tag: 81 })
})

test('an account that used less than expected catches up without delaying a new one', async () => {
  const model = newModel()
  await arriveMany(model, 'other', 4, { cost: 1_000 })
  const ids = (await arriveMany(model, 'account', 4, { cost: 1_000 })).map(({ id }) => id)
  for (let turn = 0; turn < 6; turn += 1) await claimId(model)
  for (const id of ids.slice(0, 3)) await end(model, id, 1, 9)
  // The last generation of the account waits at 3,001 while its finish tag is 1,031, below the virtual time of 2,001.
  const next = await arriveMany(model, 'account', 3, { cost: 1_000 })
  expect(next.map(({ lift }) => lift)).toMatchObject([{ tag: 2_251 }, { tag: 2_501 }, { tag: 3_031 }])
  const newcomer = await arrive(model, 'newcomer')
  expect(newcomer.lift).toMatchObject({ tag: 2_001, ahead: 0 })
  expect(await claimId(model)).toBe(newcomer.id)
})

test('an account with nothing waiting keeps no credit', async () => {
  const model = newModel()
  const { id } = await arrive(model, 'account', { cost: 1_000 })
  await claimId(model)
  await end(model, id, 1, 1)
  await arriveMany(model, 'other', 2, { cost: 500 })
  await claimId(model)
  await claimId(model)
  const next = await arriveMany(model, 'account', 2)
  expect(next.map(({ lift }) => lift)).toMatchObject([{ tag: 501 }, { tag: 502 }])
})

test('the cost ahead is that of the own generations and of the share of the others that come before', async () => {
  const model = newModel()
  await arriveMany(model, 'other', 4, { cost: 50 })
  await arriveMany(model, 'account', 3, { cost: 30 })
  // The tag is 91: 90 tokens of its own, and two of the other's four generations.
  const refused = await arrive(model, 'account', { mostAhead: 189 })
  expect(refused.lift).toEqual({ status: 'busy', reason: 'queue', ahead: 190 })
  expect((await arrive(model, 'account', { mostAhead: 190 })).lift).toMatchObject({ status: 'waiting' })
})

test('the lowest tag goes first, whatever its needs; equal tags go in the order of arrival', async () => {
  const model = newModel()
  const arrived: string[] = []
  for (const [index, features] of [['chat'], ['chat', 'continue'], ['chat']].entries()) {
    const place = liftPlace({ accountId: `account-${index}` })
    // The ids are in descending order, so that the order of the ids does not decide.
    const job = generationJob({ model, id: `${9 - index}` })
    await record.lift(await generationLift(job, { place, needs: { features, window: 0 } }))
    arrived.push(job.id)
  }
  const late = await arrive(model, 'account-0')
  expect(late.lift).toMatchObject({ status: 'waiting', tag: 2, ahead: 3 })
  const served = []
  for (let turn = 0; turn < 5; turn += 1) served.push(await claimId(model))
  expect(served).toEqual([...arrived, late.id, null])
})

test('a later epoch goes before all that waits, and advances no tag', async () => {
  const model = newModel()
  const [first, second] = await arriveMany(model, 'account', 3)
  if (!first || !second) throw new Error('unreachable')
  await claimId(model)
  expect(await record.lift({ ...first.lifting, epoch: 2, tag: 1 })).toMatchObject({ tag: 0, ahead: 0 })
  expect(await claimId(model)).toBe(first.id)
  expect((await arrive(model, 'account')).lift).toMatchObject({ tag: 4 })
  expect((await arrive(model, 'newcomer')).lift).toMatchObject({ tag: 1 })
})

test('tags do not lose precision beyond fourteen digits', async () => {
  const model = newModel()
  await redis.set(virtualTimeKey(model), '1234567890123456')
  const { lift, lifting, id } = await arrive(model, 'account', { cost: 1, weight: 2 })
  expect(lift).toMatchObject({ tag: 1_234_567_890_123_456 })
  const next = await arrive(model, 'account', { cost: 1, weight: 4 })
  expect(next.lift).toMatchObject({ tag: 1_234_567_890_123_456.5, ahead: 1 })
  expect(await record.lift(lifting)).toEqual({ ...lift, costAhead: null })
  expect([await claimId(model), await claimId(model)]).toEqual([id, next.id])
  expect((await arrive(model, 'newcomer')).lift).toMatchObject({ tag: 1_234_567_890_123_456.5 })
})

test('an account without waiting generations starts at the virtual time', async () => {
  const model = newModel()
  await arriveMany(model, 'flooder', 10)
  for (let turn = 0; turn < 6; turn += 1) await claimId(model)
  expect((await arrive(model, 'newcomer')).lift).toMatchObject({ tag: 6, ahead: 0 })
})

test('an account that hangs up all its waiting generations is not served later for it', async () => {
  const model = newModel()
  for (const { id } of await arriveMany(model, 'flooder', 30)) await hangUp(model, id)
  expect((await arrive(model, 'flooder')).lift).toMatchObject({ tag: 1 })
})

test('finish tags that the virtual time has passed by the largest credit are dropped', async () => {
  const model = newModel()
  for (let turn = 0; turn < 20; turn += 1) await arrive(model, `account-${turn}`)
  await arriveMany(model, 'account-0', 3, { cost: 70_000 })
  expect(await redis.zcard(finishKey(model))).toBe(20)
  for (let turn = 0; turn < 22; turn += 1) await claimId(model)
  await arrive(model, 'newcomer')
  expect(await redis.zrange(finishKey(model), '0', '-1')).toEqual(['newcomer', 'account-0'])
})

test('a generation with more than the allowed number ahead is refused and leaves nothing behind', async () => {
  const model = newModel()
  await arriveMany(model, 'flooder', 5)
  const before = await keysOf(model, '*')
  const refused = await arrive(model, 'flooder', { mostAhead: 4 })
  expect(refused.lift).toEqual({ status: 'busy', reason: 'queue', ahead: 5 })
  expect((await keysOf(model, '*')).toSorted()).toEqual(before.toSorted())
  expect((await arrive(model, 'flooder', { mostAhead: 5 })).lift).toMatchObject({ status: 'waiting', tag: 6 })
  expect((await arrive(model, 'neighbour', { mostAhead: 1 })).lift).toMatchObject({
    status: 'waiting',
    tag: 1,
  })
})

test('only a first lift is refused', async () => {
  const model = newModel()
  const { lifting } = await arrive(model, 'account')
  await arriveMany(model, 'other', 5)
  const narrow: Partial<Lifting> = {
    place: liftPlace({ accountId: 'account', mostAhead: 0 }),
    bounds: { accountBytes: 0, modelBytes: 0 },
  }
  expect(await record.lift({ ...lifting, ...narrow })).toMatchObject({ status: 'waiting', tag: 1 })
  expect(await record.lift({ ...lifting, ...narrow, epoch: 2, tag: 1 })).toMatchObject({ status: 'waiting' })
  const recreated = await generationLift(generationJob({ model }), { ...narrow, tag: 3 })
  expect(await record.lift(recreated)).toMatchObject({ status: 'waiting', tag: 3 })
})

test('bytes of an account, and of the model, are admitted up to their bound and refused above', async () => {
  const model = newModel()
  const { lifting } = await arrive(model, 'account')
  const bytes = lifting.job.bytes
  const within = async (accountId: string, accountBytes: number, modelBytes: number) => {
    const place = liftPlace({ accountId })
    const job = generationJob({ model })
    return await record.lift(await generationLift(job, { place, bounds: { accountBytes, modelBytes } }))
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
  const { lifting } = await arrive(model, 'account')
  const { bytes } = lifting.job
  await record.lift(lifting)
  await record.lift({ ...lifting, tag: 1 })
  await record.lift({ ...lifting, tag: 1, epoch: 2 })
  expect(await record.waitingBytes(model)).toBe(bytes)
  expect(await redis.hgetall(waitingSumsKey(model))).toEqual({ account: `${bytes} 1 1`, '': `${bytes} 1 1` })
  await claimId(model)
  await expectNothingWaits(model)
  await record.lift({ ...lifting, tag: 1, epoch: 3 })
  expect(await record.waitingBytes(model)).toBe(bytes)
})

test('a generation that is settled gives its bytes back once', async () => {
  const model = newModel()
  const { id, lifting } = await arrive(model, 'account')
  await arrive(model, 'account')
  await hangUp(model, id)
  await hangUp(model, id)
  await record.lift(lifting)
  expect(await record.waitingBytes(model)).toBe(lifting.job.bytes)
  expect(await redis.zcard(waitingExpiryKey(model))).toBe(1)
})

test('a set of needs is registered while something waits in it', async () => {
  const model = newModel()
  const ids = []
  for (const window of [0, 1_024, 1_024, 2_048]) {
    const job = generationJob({ model })
    await record.lift(await generationLift(job, { needs: { features: ['chat'], window } }))
    ids.push(job.id)
  }
  const registered = async () => (await redis.smembers(needsKey(model))).toSorted()
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
    const place = liftPlace({ accountId: 'gone', cost: 500 })
    await brief.lift(await generationLift(job, { remainingMs: 0, place }))
    await expect.poll(async () => await redis.exists(recordKey(model, job.id))).toBe(0)
  }
  const model = newModel()
  await overdue(model)
  expect(await record.waitingBytes(model)).toBeGreaterThan(0)
  const { lift, lifting } = await arrive(model, 'gone', { mostAhead: 0 })
  expect(lift).toMatchObject({ status: 'waiting', tag: 1, ahead: 0 })
  expect(await record.waitingBytes(model)).toBe(lifting.job.bytes)

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

test('a swept generation that is lifted again waits again', async () => {
  const model = newModel()
  const { id, lifting } = await arrive(model, 'account')
  await makeOverdue(model)
  expect(await record.lift({ ...lifting, tag: 1 })).toMatchObject({ status: 'waiting', tag: 1, ahead: 0 })
  expect(await record.waitingBytes(model)).toBe(lifting.job.bytes)
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
  expect((await arrive(model, 'account')).lift).toMatchObject({ ahead: 0 })
})
