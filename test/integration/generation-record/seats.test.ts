import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  homeKey,
  JOB_QUEUE,
  modelPrefix,
  requirementsKey,
  recordKey,
  seatAgesKey,
  seatsKey,
  finishKey,
  VIRTUAL_TIME,
  waitingExpiryKey,
} from '#libs/queue-redis/keys.ts'
import type { Enqueueing } from '#libs/generation-record/generation-record.ts'
import { NO_SEATS } from '#libs/generation-record/seats.ts'
import { generationJob, enqueuePlace } from '../../support/generation-job.ts'
import {
  claim,
  GATEWAY,
  enqueue,
  enqueued,
  record,
  redis,
  settlementOf,
  useRecord,
} from './record-under-test.ts'

useRecord()

const taking = (...taken: string[]) => ({ seats: { ...NO_SEATS, taken } })
const seeking = (...sought: string[]) => ({ seats: { ...NO_SEATS, sought } })
const of = (accountId: string, cost = 10, weight = 1) => ({
  place: enqueuePlace({ accountId, cost, weight }),
})

/** Lets a worker claim a generation that takes these seats, and returns the model. */
async function seated(worker: string, seats: string[], model = generationJob().model): Promise<string> {
  const job = generationJob({ model })
  await enqueue(job, taking(...seats))
  expect(await claim(job, { worker })).toMatchObject({ status: 'claimed', id: job.id })
  return model
}

async function seek(model: string, ...sought: string[]) {
  const job = generationJob({ model })
  const answer = await enqueue(job, seeking(...sought))
  await record.settle(model, settlementOf(job), GATEWAY)
  return answer.status === 'waiting' ? (answer.home?.worker ?? null) : answer.status
}

/** Waits as one generation with these fields, and returns its job. */
async function waits(model: string, fields: Partial<Enqueueing> = {}) {
  const job = generationJob({ model })
  await enqueue(job, fields)
  return job
}

test('an enqueue finds the worker that claimed the conversation last, by the first seat that exists', async () => {
  const model = await seated('worker-1', ['one', 'hint'])
  await seated('worker-2', ['two', 'hint'], model)
  expect(await seek(model, 'three', 'one', 'two')).toBe('worker-1')
  expect(await seek(model, 'three', 'hint')).toBe('worker-2')
  expect(await seek(model, 'three')).toBeNull()
  expect(await seek(generationJob().model, 'one')).toBeNull()
})

test('a generation that is enqueued to the next epoch takes its seat to the next worker', async () => {
  const job = generationJob()
  const seats = { ...NO_SEATS, taken: ['one'], sought: ['one'] }
  await enqueue(job, { seats })
  await claim(job, { worker: 'worker-1' })
  await enqueue(job, { seats, epoch: 2 })
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
  await enqueue(job, { seats: { ...NO_SEATS, taken: ['second'], sought: ['first'] } })
  await claim(job, { worker: 'worker-1' })
  const [single, turn] = await redis.zmscore(seatAgesKey(model), 'first', 'second')
  expect(Number(turn) - Number(single)).toBeGreaterThanOrEqual(480_000)
  expect([await seek(model, 'first'), await seek(model, 'second')]).toEqual(['worker-1', 'worker-1'])
})

const HELD = { ...NO_SEATS, heldMs: 2_000 }

/** Waits as a generation whose home is this worker. */
async function homed(model: string, home: string, fields: Partial<Enqueueing> = {}) {
  return await waits(model, { ...fields, seats: { ...HELD, otherwise: home } })
}

/** Lets all generations wait about equally long. */
const WAIT_MS = 300

/** Lets the time pass for which only its home may claim the generation. */
async function endHold({ model, id }: { model: string; id: string }) {
  const home = (await redis.hget(recordKey(model, id), 'home'))?.split(' ')[1] ?? ''
  await redis.hset(recordKey(model, id), 'home', `1 ${home}`)
}

async function withSeats() {
  return await seated('worker-9', ['one'])
}

test('a generation waits for the worker of its seat, else for the given one', async () => {
  const model = await seated('worker-1', ['one'])
  const enqueueing = { ...HELD, sought: ['one'], otherwise: 'worker-2' }
  const [turn, first] = [generationJob({ model }), generationJob({ model })]
  expect(await enqueue(turn, { seats: enqueueing })).toMatchObject({
    home: { worker: 'worker-1', hasSeat: true },
  })
  expect(await enqueue(first, { seats: { ...enqueueing, sought: ['two'] } })).toMatchObject({
    home: { worker: 'worker-2', hasSeat: false },
  })
  expect(await enqueue(turn, { seats: enqueueing })).toMatchObject({ home: null })
  expect(await claim(turn, { worker: 'worker-2' })).toMatchObject({ id: first.id, waiting: 0 })
  expect(await claim(turn, { worker: 'worker-2' })).toEqual({ status: 'nothing' })
  expect(await claim(turn, { worker: 'worker-1' })).toMatchObject({ id: turn.id })
  expect(await redis.exists(requirementsKey(model), waitingExpiryKey(model))).toBe(0)
})

test('any worker claims a generation that has waited for its home long enough, or has left it', async () => {
  const model = await withSeats()
  const [late, left] = [await homed(model, 'worker-2'), await homed(model, 'worker-2')]
  expect(await claim(late)).toEqual({ status: 'nothing' })
  await endHold(late)
  expect(await claim(late)).toMatchObject({ id: late.id, waiting: 0 })
  await record.leaveHome(model, left.id)
  expect(await claim(left)).toMatchObject({ id: left.id })
})

test('a later epoch has no home', async () => {
  const model = await withSeats()
  const job = await homed(model, 'worker-2')
  await claim(job, { worker: 'worker-2' })
  await enqueue(job, { epoch: 2, seats: { ...HELD, otherwise: 'worker-2' } })
  expect(await claim(job)).toMatchObject({ id: job.id })
})

test('a worker claims its own generation before free ones, also after the time for its home', async () => {
  const model = await withSeats()
  const [free, own] = [await waits(model), await homed(model, 'worker-1')]
  await endHold(own)
  await sleep(WAIT_MS)
  expect(await claim(own)).toMatchObject({ id: own.id, waiting: 1 })
  expect(await claim(own)).toMatchObject({ id: free.id })
})

test('a free generation is overtaken by 16 claims at most', async () => {
  const model = await withSeats()
  const free = await waits(model, of('account-1', 1))
  const own = []
  for (let count = 0; count < 20; count += 1) own.push(await homed(model, 'worker-1', of('account-1', 1)))
  await sleep(WAIT_MS)
  for (const { id } of own.slice(0, 15)) expect(await claim(free)).toMatchObject({ id })
  expect(await claim(free)).toMatchObject({ id: own[15]?.id })
  expect(await claim(free)).toMatchObject({ id: free.id })
  expect(await claim(free)).toMatchObject({ id: own[16]?.id })
})

test('other accounts are overtaken by eight steps at most', async () => {
  const model = await withSeats()
  const first = await waits(model, of('flood'))
  const quiet = await waits(model, of('quiet'))
  const flood = []
  for (let count = 1; count < 11; count += 1) flood.push(await homed(model, 'worker-1', of('flood')))
  await sleep(WAIT_MS)
  for (const { id } of flood.slice(0, 8)) expect(await claim(quiet)).toMatchObject({ id })
  expect(await claim(quiet)).toMatchObject({ id: first.id })
  expect(await claim(quiet)).toMatchObject({ id: quiet.id })
  expect(await claim(quiet)).toMatchObject({ id: flood[8]?.id })
})

test('a generation is overtaken only by one that has waited at least half as long', async () => {
  const model = await withSeats()
  const first = await waits(model)
  await sleep(WAIT_MS)
  const own = await homed(model, 'worker-1')
  expect(await claim(own)).toMatchObject({ id: first.id })
  expect(await claim(own)).toMatchObject({ id: own.id })
})

test('an interrupted generation is overtaken by none', async () => {
  const model = await withSeats()
  const interrupted = await waits(model)
  expect(await claim(interrupted, { worker: 'worker-2' })).toMatchObject({ id: interrupted.id })
  const own = await homed(model, 'worker-1')
  await sleep(WAIT_MS)
  await enqueue(interrupted, { epoch: 2 })
  expect(await claim(own)).toMatchObject({ id: interrupted.id })
})

test('a claim moves the virtual time to the lowest tag that waits', async () => {
  const model = await withSeats()
  const start = Number((await redis.zscore(finishKey(model), VIRTUAL_TIME)) ?? 1)
  const [first, second] = [await waits(model, of('one')), await waits(model, of('one'))]
  const own = await homed(model, 'worker-1', of('one'))
  const virtual = async () => Number((await redis.zscore(finishKey(model), VIRTUAL_TIME)) ?? 1) - start
  await sleep(WAIT_MS)
  expect(await claim(own)).toMatchObject({ id: own.id })
  expect(await virtual()).toBe(0)
  await claim(first)
  await claim(second)
  expect(await virtual()).toBe(10)
})

test('a claim passes over 16 generations of other workers, and takes the first of more', async () => {
  const model = await withSeats()
  const jobs = []
  for (let count = 0; count < 16; count += 1) jobs.push(await homed(model, 'worker-2'))
  const free = await waits(model)
  expect(await claim(free)).toMatchObject({ id: jobs[0]?.id })
  expect(await claim(free)).toMatchObject({ id: free.id, waiting: 0 })
  expect(await claim(free)).toEqual({ status: 'nothing' })
})

test('a paused queue gives no generation', async () => {
  const job = await enqueued()
  const meta = `${modelPrefix(job.model)}${JOB_QUEUE}:meta`
  await redis.hset(meta, 'paused', '1')
  expect(await claim(job)).toEqual({ status: 'nothing' })
  await redis.del(meta)
  expect(await claim(job)).toMatchObject({ status: 'claimed', id: job.id })
})

test('a generation whose clock has gone back far waits for no home', async () => {
  const model = await withSeats()
  const job = await homed(model, 'worker-2')
  await redis.hset(recordKey(model, job.id), 'home', '9999999999999 worker-2')
  expect(await claim(job)).toMatchObject({ id: job.id })
})

test('a worker claims its own generation although the set of its own ones is lost', async () => {
  const model = await withSeats()
  const job = await homed(model, 'worker-1')
  await redis.del(homeKey(model, 'worker-1'))
  expect(await claim(job)).toMatchObject({ id: job.id })
})

test('a generation whose record has expired is removed although another one would overtake it', async () => {
  const model = await withSeats()
  const gone = await waits(model)
  const own = await homed(model, 'worker-1')
  await redis.del(recordKey(model, gone.id))
  await sleep(WAIT_MS)
  expect(await claim(own)).toMatchObject({ id: own.id, waiting: 0 })
  expect(await redis.exists(recordKey(model, gone.id), requirementsKey(model))).toBe(0)
})

test('a generation that any worker claims, or that waits anew, leaves the set of its home', async () => {
  const model = await withSeats()
  const [elsewhere, anew] = [await homed(model, 'worker-2'), await homed(model, 'worker-2')]
  await endHold(elsewhere)
  expect(await claim(elsewhere)).toMatchObject({ id: elsewhere.id })
  expect(await redis.zcard(homeKey(model, 'worker-2'))).toBe(1)
  await enqueue(anew, { epoch: 2 })
  expect(await claim(anew, { worker: 'worker-2' })).toMatchObject({ id: anew.id, epoch: 2 })
  expect(await claim(anew, { worker: 'worker-2' })).toEqual({ status: 'nothing' })
  expect(await redis.exists(homeKey(model, 'worker-2'))).toBe(0)
})
