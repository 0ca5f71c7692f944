import { expect, test } from 'vitest'
import {
  JOB_QUEUE,
  modelPrefix,
  needsKey,
  reservedKey,
  seatAgesKey,
  seatsKey,
  virtualTimeKey,
  waitingExpiryKey,
  waitingKey,
} from '#libs/queue-redis/keys.ts'
import type { Lifting } from '#libs/generation-record/generation-record.ts'
import { NO_SEATS, RESERVED_MS } from '#libs/generation-record/seats.ts'
import { generationJob, liftPlace } from '../../support/generation-job.ts'
import {
  claim,
  claimed,
  GATEWAY,
  lift,
  lifted,
  record,
  redis,
  settlementOf,
  useRecord,
} from './record-under-test.ts'

useRecord()

const taking = (...taken: string[]) => ({ seats: { ...NO_SEATS, taken } })
const seeking = (...sought: string[]) => ({ seats: { ...NO_SEATS, sought } })
const of = (accountId: string, cost = 10, weight = 1) => ({ place: liftPlace({ accountId, cost, weight }) })

/** Lets a worker claim a generation that takes these seats, and returns the model. */
async function seated(worker: string, seats: string[], model = generationJob().model): Promise<string> {
  const job = generationJob({ model })
  await lift(job, taking(...seats))
  expect(await claim(job, { worker })).toMatchObject({ status: 'claimed', id: job.id })
  return model
}

async function seek(model: string, ...sought: string[]) {
  const job = generationJob({ model })
  const answer = await lift(job, seeking(...sought))
  await record.settle(model, settlementOf(job), GATEWAY)
  return answer.status === 'waiting' ? (answer.seat ?? null) : answer.status
}

/** Waits as one generation with these fields, and returns its job. */
async function waits(model: string, fields: Partial<Lifting> = {}) {
  const job = generationJob({ model })
  await lift(job, fields)
  return job
}

test('a lift finds the worker that claimed the conversation last, by the first seat that exists', async () => {
  const model = await seated('worker-1', ['one', 'hint'])
  await seated('worker-2', ['two', 'hint'], model)
  expect(await seek(model, 'three', 'one', 'two')).toBe('worker-1')
  expect(await seek(model, 'three', 'hint')).toBe('worker-2')
  expect(await seek(model, 'three')).toBeNull()
  expect(await seek(generationJob().model, 'one')).toBeNull()
})

test('a generation that is lifted to the next epoch takes its seat to the next worker', async () => {
  const job = generationJob()
  const seats = { ...NO_SEATS, taken: ['one'], sought: ['one'] }
  await lift(job, { seats })
  await claim(job, { worker: 'worker-1' })
  await lift(job, { seats, epoch: 2 })
  await claim(job, { worker: 'worker-2' })
  expect(await seek(job.model, 'one')).toBe('worker-2')
})

test('a seat counts for ten minutes after its last claim', async () => {
  const model = await seated('worker-1', ['one'])
  const [ms = '', worker = ''] = ((await redis.hget(seatsKey(model), 'one')) ?? '').split(' ')
  expect(worker).toBe('worker-1')
  await redis.hset(seatsKey(model), 'one', `${Number(ms) - 600_001} worker-1`)
  expect(await seek(model, 'one')).toBeNull()
  for (const key of [seatsKey(model), seatAgesKey(model)]) {
    expect(await redis.pttl(key)).toBeGreaterThan(500_000)
    expect(await redis.pttl(key)).toBeLessThanOrEqual(600_000)
  }
})

test('claims forget old seats, and the oldest ones beyond 50,000', async () => {
  const model = await seated('worker-1', ['one'])
  const now = Number(await redis.zscore(seatAgesKey(model), 'one'))
  const names = Array.from({ length: 50_001 }, (_, index) => `seat-${index}`)
  for (let start = 0; start < names.length; start += 5_000) {
    const part = names.slice(start, start + 5_000)
    await redis.hset(seatsKey(model), Object.fromEntries(part.map((name) => [name, `${now} worker-9`])))
    await redis.zadd(
      seatAgesKey(model),
      ...part.flatMap((name, index) => [now - 60_000 + start + index, name]),
    )
  }
  await seated('worker-2', ['two'], model)
  expect(await redis.zcard(seatAgesKey(model))).toBe(50_000)
  expect(await redis.hlen(seatsKey(model))).toBe(50_000)
  expect(await redis.hmget(seatsKey(model), 'seat-0', 'seat-2', 'seat-3')).toEqual([
    null,
    null,
    `${now} worker-9`,
  ])
  await redis.zadd(seatAgesKey(model), ...names.slice(3, 20).flatMap((name) => [now - 700_000, name]))
  await seated('worker-2', ['two'], model)
  expect(await redis.zcard(seatAgesKey(model))).toBe(49_992)
})

test('the seats of conversations are forgotten after those of single requests', async () => {
  const model = await seated('worker-1', ['first'])
  const job = generationJob({ model })
  await lift(job, { seats: { ...NO_SEATS, taken: ['second'], sought: ['first'] } })
  await claim(job, { worker: 'worker-1', offer: { id: job.id, epoch: 1 } })
  const [single, turn] = await redis.zmscore(seatAgesKey(model), 'first', 'second')
  expect(Number(turn) - Number(single)).toBeGreaterThanOrEqual(480_000)
  expect([await seek(model, 'first'), await seek(model, 'second')]).toEqual(['worker-1', 'worker-1'])
})

test('an offered generation is claimed by its id, before the fairest one', async () => {
  const first = await lifted()
  const offered = await waits(first.model, of('account-1', 1))
  const offer = { id: offered.id, epoch: 1 }
  expect(await claim(first, { offer })).toMatchObject({ status: 'claimed', id: offered.id, waiting: 1 })
  expect(await claim(first, { offer })).toEqual({ status: 'nothing' })
  expect(await claim(first)).toMatchObject({ status: 'claimed', id: first.id, waiting: 0 })
})

test('a repeated claim of an offer gets the same generation', async () => {
  const job = await lifted()
  const claiming = { nonce: `nonce-${job.id}`, offer: { id: job.id, epoch: 1 } }
  const answer = await claim(job, claiming)
  expect(answer).toMatchObject({ status: 'claimed', id: job.id })
  expect(await claim(job, claiming)).toMatchObject({ status: 'claimed', id: job.id })
})

test('an offer of another epoch, of a generation that ended or is unknown, or that the worker does not serve does nothing', async () => {
  const job = await lifted()
  const gone = await claimed()
  const offers = [
    { id: job.id, epoch: 2 },
    { id: 'unknown', epoch: 1 },
  ]
  for (const offer of offers) expect(await claim(job, { offer })).toEqual({ status: 'nothing' })
  expect(await claim(gone, { offer: { id: gone.id, epoch: 1 } })).toEqual({ status: 'nothing' })
  const serves = { features: ['embedding'], window: 4_096 }
  const offer = { id: job.id, epoch: 1 }
  expect(await claim(job, { offer, serves })).toEqual({ status: 'nothing' })
  expect(await claim(job, { offer, buried: ['gateway-1'] })).toEqual({ status: 'nothing' })
  await record.settle(job.model, settlementOf(job), GATEWAY)
  expect(await claim(job, { offer })).toEqual({ status: 'nothing' })
})

test('an offer overtakes other accounts by four times its cost at most, and its own account without limit', async () => {
  const { model } = generationJob()
  const flood = [await waits(model, of('flood'))]
  const other = await waits(model, of('quiet'))
  for (let count = 1; count < 7; count += 1) flood.push(await waits(model, of('flood')))
  const [fifth, sixth, last] = [flood[4], flood[5], flood[6]]
  const offerOf = (job = other) => ({ offer: { id: job.id, epoch: 1 } })
  expect(await claim(other, offerOf(sixth))).toEqual({ status: 'later' })
  expect(await claim(other, offerOf(fifth))).toMatchObject({ status: 'claimed', id: fifth?.id })
  expect(await claim(other)).toMatchObject({ id: flood[0]?.id })
  expect(await claim(other)).toMatchObject({ id: other.id })
  expect(await claim(other, offerOf(last))).toMatchObject({ status: 'claimed', id: last?.id })
})

test('an offer moves the virtual time to the lowest tag that waits, and not past it', async () => {
  const first = await waits(generationJob().model, of('one'))
  const second = await waits(first.model, of('one'))
  const third = await waits(first.model, of('one'))
  const virtual = async () => Number((await redis.get(virtualTimeKey(first.model))) ?? 1)
  await claim(first, { offer: { id: third.id, epoch: 1 } })
  expect(await virtual()).toBe(1)
  await claim(first, { offer: { id: first.id, epoch: 1 } })
  await claim(first, { offer: { id: second.id, epoch: 1 } })
  // Nothing waits, so an account that comes now begins where the other one has been served.
  expect(await virtual()).toBe(11)
})

/** A Redis time that no test lives to see. */
const FAR_MS = 9e15

/** Lifts a generation whose seat exists, so that it is reserved for an offer, and makes the reservation last. */
async function reserved(model: string, fields: Partial<Lifting> = {}) {
  const job = await waits(model, { ...fields, ...seeking('one') })
  expect(await redis.zadd(reservedKey(model), 'XX', 'CH', FAR_MS, job.id)).toBe(1)
  return job
}

/** Lets the time of the model's reservations pass. */
const expireReserved = async (model: string, id: string) => await redis.zadd(reservedKey(model), 1, id)

test('a claim passes over generations that are offered elsewhere, and leaves them where they wait', async () => {
  const model = await seated('worker-1', ['one'])
  const warm = await reserved(model)
  expect(await claim(warm)).toEqual({ status: 'nothing' })
  const cold = await waits(model)
  expect(await claim(warm)).toMatchObject({ status: 'claimed', id: cold.id, waiting: 0 })
  expect(await redis.zcard(waitingExpiryKey(model))).toBe(1)
  const offer = { id: warm.id, epoch: 1 }
  expect(await claim(warm, { offer })).toMatchObject({ status: 'claimed', id: warm.id, waiting: 0 })
  for (const key of [needsKey(model), waitingExpiryKey(model), reservedKey(model)])
    expect(await redis.exists(key)).toBe(0)
})

test('a claim that only passes over reserved generations changes nothing of what waits', async () => {
  const model = await seated('worker-1', ['one'])
  const jobs = [await reserved(model), await reserved(model)]
  const waiting = await redis.keys(`${waitingKey(model, '')}*`)
  expect(waiting).toHaveLength(1)
  await redis.watch(...waiting)
  for (const job of jobs) expect(await claim(job)).toEqual({ status: 'nothing' })
  // A transaction is not executed if a watched key was written.
  expect(await redis.multi().ping().exec()).not.toBeNull()
})

test('a generation that the worker may not take holds back no offer of another account', async () => {
  const model = await seated('worker-1', ['one'])
  const elsewhere = await reserved(model, of('quiet'))
  const flood = []
  for (let count = 0; count < 8; count += 1) flood.push(await waits(model, of('flood')))
  const last = flood.pop()
  const offer = { id: last?.id ?? '', epoch: 1 }
  for (const { id } of flood) expect(await claim(elsewhere)).toMatchObject({ id })
  // Only the reserved generation has a lower tag: it is seven steps before the offered one.
  expect(await claim(elsewhere, { offer })).toMatchObject({ status: 'claimed', id: last?.id })
  expect(Number(await redis.get(virtualTimeKey(model)))).toBe(71)
  await record.unreserve(model, elsewhere.id)
  expect(await claim(elsewhere)).toMatchObject({ id: elsewhere.id })
})

test('a paused queue gives no offered generation', async () => {
  const job = await lifted()
  const meta = `${modelPrefix(job.model)}${JOB_QUEUE}:meta`
  const offer = { id: job.id, epoch: 1 }
  await redis.hset(meta, 'paused', '1')
  expect(await claim(job, { offer })).toEqual({ status: 'nothing' })
  await redis.del(meta)
  expect(await claim(job, { offer })).toMatchObject({ status: 'claimed', id: job.id })
})

test('a reservation ends with its time, with unreserve, and with a repeated lift', async () => {
  const model = await seated('worker-1', ['one'])
  const first = await reserved(model)
  await expireReserved(model, first.id)
  expect(await claim(first)).toMatchObject({ id: first.id })
  const second = await reserved(model)
  await record.unreserve(model, second.id)
  expect(await claim(second)).toMatchObject({ id: second.id })
  const third = await reserved(model)
  await lift(third, seeking('one'))
  expect(await claim(third)).toMatchObject({ id: third.id })
})

test('a reserved generation that ends or expires leaves nothing behind that waits', async () => {
  const model = await seated('worker-1', ['one'])
  const job = await reserved(model)
  await record.settle(model, settlementOf(job), GATEWAY)
  expect(await claim(job)).toEqual({ status: 'nothing' })
  expect(await redis.exists(needsKey(model), waitingExpiryKey(model))).toBe(0)
  expect(await redis.pttl(reservedKey(model))).toBeLessThanOrEqual(600_000)
})

test('a claim passes over 16 reserved generations, and takes the first of more', async () => {
  const model = await seated('worker-1', ['one'])
  const jobs = []
  for (let count = 0; count < 17; count += 1) jobs.push(await reserved(model))
  const free = await waits(model)
  await waits(model)
  expect(await claim(free)).toMatchObject({ id: jobs[0]?.id, waiting: 2 })
  expect(await claim(free)).toMatchObject({ id: free.id, waiting: 1 })
})

test('a first lift reserves the generation without a seat if it is asked to, and a repeated lift does not', async () => {
  const job = generationJob()
  const seats = { ...NO_SEATS, isReserved: true }
  expect(await lift(job, { seats })).toMatchObject({ status: 'waiting', isReserved: true })
  expect(await redis.zscore(reservedKey(job.model), job.id)).not.toBeNull()
  const again = await lift(job, { seats })
  expect(again).not.toHaveProperty('isReserved')
  expect(await redis.exists(reservedKey(job.model))).toBe(0)
})

test('a reservation can be made longer, but not after its end', async () => {
  const model = await seated('worker-1', ['one'])
  const job = await waits(model, seeking('one'))
  const until = async () => Number(await redis.zscore(reservedKey(model), job.id))
  const before = await until()
  await record.reserveLonger(model, job.id, RESERVED_MS + 700)
  expect((await until()) - before).toBe(700)
  await record.unreserve(model, job.id)
  await record.reserveLonger(model, job.id, 1_000)
  expect(await redis.exists(reservedKey(model))).toBe(0)
})

test('an offer overtakes by four steps of its account, which are shorter the more weight the account has', async () => {
  const { model } = generationJob()
  const heavy = [await waits(model, of('heavy', 40, 4))]
  const other = await waits(model, of('quiet'))
  for (let count = 1; count < 6; count += 1) heavy.push(await waits(model, of('heavy', 40, 4)))
  const offerOf = (at: number) => ({ offer: { id: heavy[at]?.id ?? '', epoch: 1 } })
  expect(await claim(other, offerOf(5))).toEqual({ status: 'later' })
  expect(await claim(other, offerOf(4))).toMatchObject({ status: 'claimed', id: heavy[4]?.id })
  expect(await claim(other)).toMatchObject({ id: heavy[0]?.id })
})
