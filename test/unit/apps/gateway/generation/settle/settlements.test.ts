import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createSettlements, type Ending } from '#apps/gateway/generation/settle/settlements.ts'
import { decodeTiming } from '#libs/contracts/settlement-timing.ts'
import type { Settled, SettlementMark } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../../../support/generation-job.ts'

const RECORDED: Settled = { status: 'recorded', worker: 'worker-1', waited: false }
const ENDING: Ending = {
  job: generationJob({ id: 'g1', model: 'demo-chat' }),
  epoch: 2,
  outcome: 'completed',
  promptTokens: 3,
  cachedTokens: 0,
  completionTokens: 5,
  deadlineMs: 60_000,
  timing: decodeTiming('5,1,20,300,stop,,0,1'),
}

/** `answers` has the record's answers, in order; the last one repeats. */
function setUp(
  answers: (Settled | Error)[] = [RECORDED],
  bounds: { mostHeld?: number; mostBytes?: number } = {},
) {
  const log: string[] = []
  const clock = { nowMs: 0 }
  const mark: { -readonly [Field in keyof SettlementMark]: SettlementMark[Field] } & { reads: number } = {
    runId: 'a',
    committedMs: null,
    reads: 0,
  }
  const settlements = createSettlements({
    record: {
      async settle(_model, { id, epoch, outcome, completionTokens }, { role }) {
        log.push(`${role} settles ${id} ${epoch} ${outcome} ${completionTokens}`)
        const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? RECORDED
        if (answer instanceof Error) throw answer
        return answer
      },
      async readMark() {
        mark.reads += 1
        return { ...mark }
      },
    },
    billing: {
      async release(id) {
        log.push(`release ${id}`)
        return true
      },
      async resize({ deadlineMs }) {
        log.push(`extend to ${deadlineMs}`)
        return { status: 'conflict' }
      },
    },
    nowMs: () => clock.nowMs,
    queueClock: { nowMs: () => clock.nowMs, toQueueMs: (ownMs) => ownMs },
    holdGraceMs: 60_000,
    log: pino({ level: 'silent' }),
    ...bounds,
  })
  const answered: Settled[] = []
  return {
    settlements,
    log,
    clock,
    mark,
    answered,
    add: () => settlements.add(ENDING, (settled) => answered.push(settled)),
  }
}

const SETTLES = 'gateway settles g1 2 completed 5'

test('a settlement is sent at once, and its answer reported', async () => {
  const { settlements, log, answered, add } = setUp()
  add()
  await settlements.drain()
  expect(log).toEqual([SETTLES])
  expect(answered).toEqual([RECORDED])
})

test('it is repeated until the record answers', async () => {
  const { settlements, log, answered, add } = setUp([
    new Error('Command timed out'),
    new Error('closed'),
    RECORDED,
  ])
  add()
  expect(settlements.counts()).toEqual({ unanswered: 1, kept: 0 })
  await settlements.drain()
  expect(log).toHaveLength(3)
  expect(answered).toEqual([RECORDED])
  expect(settlements.counts()).toEqual({ unanswered: 0, kept: 1 })
})

test('it is kept until billing’s mark has passed its answer', async () => {
  const { settlements, log, clock, mark, add } = setUp()
  await settlements.tick()
  add()
  await settlements.drain()
  // The run id is read before the first settlement is sent, so the settlement is not sent again.
  await settlements.tick()
  await settlements.drain()
  expect(log).toEqual([SETTLES])
  mark.committedMs = 500
  await settlements.tick()
  expect(settlements.counts().kept).toBe(1)
  clock.nowMs = 5_000
  mark.committedMs = 3_000
  await settlements.tick()
  expect(settlements.counts().kept).toBe(0)
  expect(log).toHaveLength(1)
})

test('after a change of the run id it is sent again, also one that was answered as settled', async () => {
  const { settlements, log, mark, add } = setUp([{ status: 'settled', worker: null, waited: false }])
  add()
  await settlements.drain()
  await settlements.tick()
  await settlements.drain()
  const before = log.length
  mark.runId = 'b'
  // This mark belongs to another run of Redis, so it does not cover the settlement.
  mark.committedMs = 1e9
  await settlements.tick()
  await settlements.drain()
  expect(log).toHaveLength(before + 1)
  expect(settlements.counts().kept).toBe(1)
  await settlements.tick()
  expect(settlements.counts().kept).toBe(0)
})

test('one that is sent again is not dropped before its new answer', async () => {
  const { settlements, mark, add } = setUp([RECORDED, new Error('Command timed out')])
  add()
  await settlements.drain()
  await settlements.tick()
  await settlements.drain()
  mark.runId = 'b'
  mark.committedMs = 1e9
  await settlements.tick()
  await settlements.tick()
  expect(settlements.counts().kept).toBe(1)
})

test('while there is no answer its hold is extended before it expires', async () => {
  const { settlements, log, clock, add } = setUp([new Error('Command timed out')])
  clock.nowMs = 89_999
  add()
  await expect.poll(() => log.length).toBeGreaterThan(1)
  expect(log.join()).not.toContain('extend')
  clock.nowMs = 100_000
  await expect.poll(() => log).toContain('extend to 160000')
  clock.nowMs = 300_000
  await settlements.drain()
  expect(settlements.counts()).toEqual({ unanswered: 0, kept: 0 })
})

test('beyond the limit no more work may be taken', async () => {
  const { settlements, add } = setUp([RECORDED], { mostHeld: 1 })
  expect(settlements.isFull()).toBe(false)
  add()
  expect(settlements.isFull()).toBe(true)
  await settlements.drain()
})

test('beyond the limit of bytes no more work may be taken, until billing has committed some', async () => {
  const { settlements, mark, clock, add } = setUp([RECORDED], { mostBytes: 1_200 })
  add()
  expect(settlements.isFull()).toBe(false)
  expect(settlements.fill()).toBeCloseTo(0.85, 1)
  add()
  expect(settlements.isFull()).toBe(true)
  await settlements.drain()
  await settlements.tick()
  await settlements.drain()
  clock.nowMs = 5_000
  mark.committedMs = 3_000
  await settlements.tick()
  expect(settlements.fill()).toBe(0)
})

test('a receipt counts with its length', async () => {
  const { settlements } = setUp([RECORDED], { mostBytes: 10_000 })
  const job = generationJob({ id: 'g1', model: 'demo-chat' })
  const receipt = 'r'.repeat(9_500)
  settlements.add({ ...ENDING, job: { ...job, hold: { ...job.hold, receipt } } }, () => undefined)
  expect(settlements.isFull()).toBe(true)
  await settlements.drain()
})

test('an answer is reported once, also when it is sent again', async () => {
  const { settlements, answered, mark, add } = setUp()
  add()
  await settlements.drain()
  mark.runId = 'b'
  await settlements.tick()
  await settlements.drain()
  expect(answered).toEqual([RECORDED])
})

test('a hold without a record is released', async () => {
  const { settlements, log } = setUp()
  settlements.releaseHold('g1')
  await settlements.drain()
  expect(log).toEqual(['release g1'])
})

test('at the end it waits until billing has committed everything', async () => {
  const { settlements, mark, log, add } = setUp()
  add()
  await settlements.drain()
  expect(log).toHaveLength(1)
  let isOver = false
  const looks = mark.reads
  const committed = settlements.untilCommitted(60_000).then(() => (isOver = true))
  await expect.poll(() => mark.reads).toBeGreaterThan(looks + 1)
  expect(isOver).toBe(false)
  mark.committedMs = 1_000
  await committed
  expect(settlements.counts()).toEqual({ unanswered: 0, kept: 0 })
})

test('it does not wait for longer than the limit, nor where nothing is kept', async () => {
  const { settlements, add } = setUp()
  await settlements.untilCommitted(600_000)
  add()
  await settlements.drain()
  await settlements.untilCommitted(1)
  expect(settlements.counts().kept).toBe(1)
})
