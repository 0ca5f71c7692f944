import { expect, test } from 'vitest'
import { createAffinity, type SeatedCall } from '#apps/gateway/generation/dispatch/affinity.ts'
import { toConversation, type Conversation } from '#apps/gateway/generation/request/conversation.ts'
import { createClusterPicture, type WorkerPicture } from '#apps/gateway/demand/cluster-picture.ts'
import { NO_SEATS } from '#libs/generation-record/seats.ts'
import { generationCall } from '../../../../../support/generation-call.ts'
import { generationJob } from '../../../../../support/generation-job.ts'
import { modelSpec } from '../../../../../support/model-spec.ts'

const placed: string[] = []

const CALM: WorkerPicture = { running: 2, share: 2 }

function setUp({
  secret = 'secret',
  worker = CALM,
  leastLoaded = 'calm',
  workers = 2,
  meanGenerationMs = null,
}: {
  secret?: string | null
  worker?: WorkerPicture | null
  leastLoaded?: string | null
  workers?: number
  meanGenerationMs?: number | null
} = {}) {
  placed.length = 0
  const { open, hasSeats } = createAffinity({
    secret: () => secret,
    picture: {
      countWorkers: () => workers,
      find: () => ({ slots: 16, running: 4, meanGenerationMs, slotTokensPerS: null, contextWindow: 4_096 }),
      findWorker: () => worker,
      findLeastLoaded: () => leastLoaded,
      notePlaced: (_model, id) => placed.push(id),
    },
  })
  return { open, hasSeats, seatsOf: (call: SeatedCall) => open(call).seats }
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

test('there are no seats while fewer than two workers are ready', () => {
  const { hasSeats, seatsOf } = setUp({ workers: 1 })
  expect([hasSeats('m'), setUp({ secret: null }).hasSeats('m'), setUp().hasSeats('m')]).toEqual([
    false,
    false,
    true,
  ])
  expect(seatsOf(callOf())).toEqual(NO_SEATS)
})

test('a small prompt, which no thread has hashed, is hashed when its seats are named', () => {
  const { seatsOf } = setUp()
  const request = { ...generationJob().request, messages: [{ role: 'user' as const, content: 'Hello' }] }
  const hashed = seatsOf(generationCall({ request, conversation: toConversation(request) }))
  expect(hashed.taken).toHaveLength(1)
  expect(seatsOf(generationCall({ request, conversation: null }))).toEqual(hashed)
})

test('a first turn waits for the least loaded worker, and is counted there at once', () => {
  expect(setUp().seatsOf(callOf({ hasAnswer: false })).otherwise).toBe('calm')
  expect(placed).toEqual(['calm'])
  expect(setUp({ leastLoaded: null }).seatsOf(callOf({ hasAnswer: false })).otherwise).toBeNull()
  expect(placed).toEqual([])
})

test('a later turn is counted at the least loaded worker when it waits for it, because no seat was found', () => {
  const { accept } = setUp().open(callOf())
  expect(placed).toEqual([])
  expect([accept('calm'), placed]).toEqual([true, ['calm']])
})

test('a home is waited for twice the time until a slot becomes free, from 250 ms to 2 s', () => {
  const heldMs = (meanGenerationMs: number | null) => setUp({ meanGenerationMs }).seatsOf(callOf()).heldMs
  expect([null, 100, 4_000, 60_000].map(heldMs)).toEqual([250, 250, 1_000, 2_000])
})

test('a home with more than 1.25 times its share and two generations is not waited for if another worker is calm', () => {
  const accepts = (running: number, leastLoaded: string | null = 'calm') =>
    setUp({ worker: { running, share: 4 }, leastLoaded })
      .open(callOf())
      .accept('busy')
  expect([accepts(7), accepts(8), accepts(8, null)]).toEqual([true, false, true])
})

test('a home that is not ready is not waited for', () => {
  expect(setUp({ worker: null }).open(callOf()).accept('gone')).toBe(false)
})

/** Returns heartbeats of four workers with 16 slots, which run these numbers of generations. */
const beats = (...running: number[]) =>
  running.map((count, at) => {
    const engine = { model: 'm', ready: true, slots: 16, running: count, contextWindow: 4_096 }
    const engines = [{ ...engine, meanGenerationMs: 500, slotTokensPerS: null }]
    return { id: `worker-${at}`, kind: 'worker', engines } as const
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
      const worker = sides[turn % gateways]?.open(callOf({ hasAnswer: false })).seats.otherwise ?? 'none'
      counts.set(worker, (counts.get(worker) ?? 0) + 1)
    }
    const most = Math.max((counts.get('worker-0') ?? 0) + 3, ...counts.values())
    expect([...counts.keys()].toSorted()).toEqual(['worker-0', 'worker-1', 'worker-2', 'worker-3'])
    expect(most).toBeLessThanOrEqual(12 + gateways)
  },
)
