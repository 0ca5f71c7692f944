import { expect, test } from 'vitest'
import { createAffinity } from '#apps/gateway/generation/affinity.ts'
import { NO_SEATS } from '#libs/generation-record/generation-record.ts'
import type { WorkerPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { generationCall } from '../../../../support/generation-call.ts'

const moved: string[][] = []

const CALM: WorkerPicture = { slots: 8, running: 2, meanRunning: 2, meanGenerationMs: 4_000 }

function setUp({
  isOn = true,
  secret = 'secret',
  worker = CALM,
}: { isOn?: boolean; secret?: string; worker?: WorkerPicture | null } = {}) {
  return createAffinity({
    isOn,
    secret,
    picture: {
      findWorker: () => worker,
      findCalmest: () => 'calm',
      noteMoved: (...workers) => moved.push(workers),
    },
  })
}

const TURN = { beginnings: ['second', 'first'], hasAnswer: true, session: null }

const callOf = (conversation = {}, accountId = 'account-1') =>
  generationCall({
    caller: { keyId: 'key-1', accountId, weight: 1, models: null, shortage: null },
    conversation: { ...TURN, ...conversation },
  })

test('a later turn seeks its beginnings, the longest first, and takes the longest', () => {
  const { taken, sought } = setUp().seatsOf(callOf())
  expect(sought).toHaveLength(2)
  expect(taken).toEqual([sought[0]])
  for (const name of sought) expect(name).toMatch(/^[\w-]{16}$/)
})

test('a first turn only takes a seat, and a session is sought from its first turn on, after the beginnings', () => {
  const { seatsOf } = setUp()
  expect(seatsOf(callOf({ hasAnswer: false })).sought).toEqual([])
  const named = seatsOf(callOf({ hasAnswer: false, session: 'mine' }))
  expect([named.taken.length, named.sought]).toEqual([2, [named.taken[1]]])
  expect(seatsOf(callOf({ session: 'mine' })).sought.at(-1)).toBe(named.taken[1])
})

test('names differ by account and by secret, and a session is no beginning', () => {
  const latest = [
    setUp().seatsOf(callOf()),
    setUp().seatsOf(callOf({}, 'account-2')),
    setUp({ secret: 'other' }).seatsOf(callOf()),
  ].map(({ taken }) => taken[0])
  const { taken } = setUp().seatsOf(callOf({ session: 'second' }))
  expect(new Set([...latest, ...taken]).size).toBe(4)
})

test('there are no seats while affinity is off, and none for a prompt without a message of the user', () => {
  expect(setUp({ isOn: false }).seatsOf(callOf())).toEqual(NO_SEATS)
  expect(setUp().seatsOf(callOf({ beginnings: [], session: 'mine' }))).toEqual(NO_SEATS)
})

test('a worker with room is waited for briefly, and a full one twice the time until a slot becomes free', () => {
  const choose = (worker: WorkerPicture) => setUp({ worker }).choose('demo-chat', 'worker-1')
  const waits = (waitMs: number) => ({ worker: 'worker-1', waitMs })
  const full = { ...CALM, running: 8, meanRunning: 8 }
  expect(choose(CALM)).toEqual(waits(250))
  expect(choose(full)).toEqual(waits(1_000))
  expect(choose({ ...full, meanGenerationMs: 60_000 })).toEqual(waits(2_000))
  expect(choose({ ...full, meanGenerationMs: null })).toEqual(waits(250))
})

test('a turn of a worker with more than 1.25 times the mean load and one generation moves to the calmest', () => {
  const choose = (running: number, worker = 'busy') =>
    setUp({ worker: { ...CALM, slots: 16, running, meanRunning: 4 } }).choose('m', worker)
  expect(choose(6)).toEqual({ worker: 'busy', waitMs: 250 })
  expect(moved).toEqual([])
  expect(choose(7)).toEqual({ worker: 'calm', waitMs: 250 })
  expect(moved).toEqual([['busy', 'calm']])
  expect(choose(7, 'calm')).toEqual({ worker: 'calm', waitMs: 250 })
})

test('nothing is offered to a worker that is not ready, or the only one', () => {
  expect(setUp({ worker: null }).choose('m', 'w')).toBeNull()
})
