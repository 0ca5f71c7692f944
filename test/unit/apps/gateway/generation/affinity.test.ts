import { expect, test } from 'vitest'
import { createAffinity } from '#apps/gateway/generation/affinity.ts'
import { NO_SEATS } from '#libs/generation-record/generation-record.ts'
import type { WorkerPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { generationCall } from '../../../../support/generation-call.ts'

const diverted: string[] = []

const CALM: WorkerPicture = { slots: 8, running: 2, meanRunning: 2, meanGenerationMs: 4_000 }

function setUp({
  isOn = true,
  secret = 'secret',
  worker = CALM,
}: { isOn?: boolean; secret?: string; worker?: WorkerPicture | null } = {}) {
  return createAffinity({
    isOn,
    secret,
    picture: { findWorker: () => worker, noteDiverted: (id) => diverted.push(id) },
  })
}

const TURN = { beginnings: ['second', 'first'], hasAnswer: true, session: null }

const callOf = (conversation = {}, accountId = 'account-1') =>
  generationCall({
    caller: { keyId: 'key-1', accountId, models: null, shortage: null },
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
  const waitFor = (worker: WorkerPicture | null) => setUp({ worker }).waitFor('demo-chat', 'worker-1')
  expect(waitFor(CALM)).toBe(250)
  expect(waitFor({ ...CALM, running: 8, meanRunning: 8 })).toBe(1_000)
  expect(waitFor({ ...CALM, running: 8, meanRunning: 8, meanGenerationMs: 60_000 })).toBe(2_000)
  expect(waitFor({ ...CALM, running: 8, meanRunning: 8, meanGenerationMs: null })).toBe(250)
})

test('a worker with more than 1.25 times the mean load and one generation gets no offer', () => {
  const waitFor = (running: number) =>
    setUp({ worker: { ...CALM, slots: 16, running, meanRunning: 4 } }).waitFor('m', 'w')
  expect([waitFor(6), waitFor(7)]).toEqual([250, null])
  expect(diverted).toEqual(['w'])
  expect(setUp({ worker: null }).waitFor('m', 'w')).toBeNull()
})
