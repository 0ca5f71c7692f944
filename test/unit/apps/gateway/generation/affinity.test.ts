import { expect, test } from 'vitest'
import { createAffinity, type SeatedCall } from '#apps/gateway/generation/affinity.ts'
import { toConversation, type Conversation } from '#apps/gateway/generation/conversation.ts'
import { createClusterPicture, type WorkerPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { FORM } from '#libs/queue-redis/keys.ts'
import { NO_SEATS } from '#libs/generation-record/seats.ts'
import { generationCall } from '../../../../support/generation-call.ts'
import { generationJob } from '../../../../support/generation-job.ts'
import { modelSpec } from '../../../../support/model-spec.ts'

const placed: (string | null)[][] = []

const CALM: WorkerPicture = { slots: 8, running: 2, share: 2, meanGenerationMs: 4_000 }

function setUp({
  secret = 'secret',
  worker = CALM,
  calmest = 'calm',
  takesOffers = true,
}: {
  secret?: string | null
  worker?: WorkerPicture | null
  calmest?: string | null
  takesOffers?: boolean
} = {}) {
  const { open } = createAffinity({
    secret: () => secret,
    picture: {
      takesOffers: () => takesOffers,
      findWorker: () => worker,
      findCalmest: () => calmest,
      notePlaced: (...workers) => placed.push(workers),
    },
  })
  return {
    open,
    seatsOf: (call: SeatedCall) => open(call).seats,
    choose: (seat?: string) => open(callOf()).choose(seat),
  }
}

const TURN = { beginnings: ['second', 'first'], hasAnswer: true }

const callOf = (fields: Partial<Conversation> & { session?: string } = {}, accountId = 'account-1') => {
  const { session = null, ...conversation } = fields
  return generationCall({
    model: modelSpec({ id: 'm' }),
    caller: { keyId: 'key-1', accountId, weight: 1, models: null, shortage: null },
    conversation: { ...TURN, ...conversation },
    session,
  })
}

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

test('there are no seats without a secret, and none for a prompt without a message of the user', () => {
  expect(setUp({ secret: null }).seatsOf(callOf())).toEqual(NO_SEATS)
  expect(setUp().seatsOf(callOf({ beginnings: [], session: 'mine' }))).toEqual(NO_SEATS)
})

test('there are no seats while fewer than two workers may get offers', () => {
  expect(setUp({ takesOffers: false }).seatsOf(callOf())).toEqual(NO_SEATS)
})

test('a small prompt, which no thread has hashed, is hashed when its seats are named', () => {
  const { seatsOf } = setUp()
  const request = { ...generationJob().request, messages: [{ role: 'user' as const, content: 'Hello' }] }
  const hashed = seatsOf(generationCall({ request, conversation: toConversation(request) }))
  expect(hashed.taken).toHaveLength(1)
  expect(seatsOf(generationCall({ request, conversation: null }))).toEqual(hashed)
})

test('the further choices of a request get the worker of the first one', () => {
  placed.length = 0
  const workers = ['one', 'two', 'three']
  const open = (worker: WorkerPicture | null) =>
    createAffinity({
      secret: () => 'secret',
      picture: {
        takesOffers: () => true,
        findWorker: () => worker,
        findCalmest: () => workers[placed.length] ?? null,
        notePlaced: (...noted) => placed.push(noted),
      },
    }).open(callOf())
  const first = open(CALM)
  const chosen = [first.choose(undefined), first.choose(undefined), first.choose('elsewhere')]
  expect(chosen).toEqual(Array.from({ length: 3 }, () => ({ worker: 'one', waitMs: 250 })))
  expect(placed).toEqual(Array.from({ length: 3 }, () => ['m', 'one', null]))
  expect(open(CALM).choose(undefined)).toBeNull()
  const full = open({ ...CALM, running: 8, share: 8 })
  expect([full.choose('mine'), full.choose('mine')]).toEqual(
    Array.from({ length: 2 }, () => ({ worker: 'mine', waitMs: 1_000 })),
  )
  const lost = open(null)
  expect([lost.choose('gone'), lost.choose(undefined)]).toEqual([null, null])
})

test('a turn is reserved if there is a calmest worker that may get it', () => {
  expect(setUp().seatsOf(callOf()).isReserved).toBe(true)
  expect(setUp({ calmest: null }).seatsOf(callOf()).isReserved).toBe(false)
})

test('a turn without a seat is offered to the calmest worker, if there is one', () => {
  placed.length = 0
  expect(setUp().choose(undefined)).toEqual({ worker: 'calm', waitMs: 250 })
  expect(placed).toEqual([['m', 'calm', null]])
  expect(setUp({ calmest: null }).choose(undefined)).toBeNull()
})

test('a worker with room is waited for briefly, and a full one twice the time until a slot becomes free', () => {
  const choose = (worker: WorkerPicture) => setUp({ worker }).choose('worker-1')
  const waits = (waitMs: number) => ({ worker: 'worker-1', waitMs })
  const full = { ...CALM, running: 8, share: 8 }
  expect(choose(CALM)).toEqual(waits(250))
  expect(choose(full)).toEqual(waits(1_000))
  expect(choose({ ...full, meanGenerationMs: 60_000 })).toEqual(waits(2_000))
  expect(choose({ ...full, meanGenerationMs: null })).toEqual(waits(250))
})

test('a turn of a worker with more than 1.25 times its share and two generations moves to the calmest, if there is one', () => {
  placed.length = 0
  const choose = (running: number, seat = 'busy', calmest: string | null = 'calm') =>
    setUp({ worker: { ...CALM, slots: 16, running, share: 4 }, calmest }).choose(seat)
  expect(choose(7)).toEqual({ worker: 'busy', waitMs: 250 })
  expect(choose(8, 'busy', null)).toEqual({ worker: 'busy', waitMs: 250 })
  expect(placed).toEqual([])
  expect(choose(8)).toEqual({ worker: 'calm', waitMs: 250 })
  expect(placed).toEqual([['m', 'calm', 'busy']])
  expect(choose(8, 'calm')).toEqual({ worker: 'calm', waitMs: 250 })
})

test('nothing is offered to a worker that is not ready, or the only one', () => {
  expect(setUp({ worker: null }).choose('w')).toBeNull()
})

/** Returns heartbeats of four workers with 16 slots, which run these numbers of generations. */
const beats = (...running: number[]) =>
  running.map((count, at) => {
    const engine = { model: 'm', ready: true, slots: 16, running: count, contextWindow: 4_096 }
    const engines = [{ ...engine, takesOffers: true, meanGenerationMs: 500, slotTokensPerS: null }]
    return { id: `worker-${at}`, form: FORM, kind: 'worker', name: 'worker', engines } as const
  })

test.each([1, 2])(
  'first turns that arrive between two heartbeats are spread evenly by %i gateways',
  (gateways) => {
    const sides = Array.from({ length: gateways }, () => {
      const picture = createClusterPicture(() => 0)
      for (const beat of beats(3, 0, 0, 0)) picture.applyHeartbeat(beat)
      return createAffinity({ secret: () => 'secret', picture })
    })
    const counts = new Map<string, number>()
    for (let turn = 0; turn < 45; turn += 1) {
      const chosen = sides[turn % gateways]?.open(callOf()).choose(undefined)
      const worker = chosen?.worker ?? 'none'
      counts.set(worker, (counts.get(worker) ?? 0) + 1)
    }
    const most = Math.max((counts.get('worker-0') ?? 0) + 3, ...counts.values())
    expect([...counts.keys()].toSorted()).toEqual(['worker-0', 'worker-1', 'worker-2', 'worker-3'])
    expect(most).toBeLessThanOrEqual(12 + gateways)
  },
)
