import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { createDispatch } from '#apps/gateway/generation/dispatch.ts'
import { createPace } from '#apps/gateway/generation/pace.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Lift, Lifting } from '#libs/generation-record/generation-record.ts'
import { generationJob } from '../../../../support/generation-job.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const WAITING: Lift = { status: 'waiting', tag: 7, ahead: 0 }
const CLAIMED: Lift = { status: 'claimed', worker: 'worker-1', nonce: 'n1' }

/** The record answers with these in order; the last one repeats. */
function setUp(
  answers: (Lift | Error)[] = [WAITING],
  options: {
    room?: boolean
    served?: boolean
    ids?: number[]
    startsAtMs?: number
    lifted?: Promise<void>
    ticketsFail?: boolean
  } = {},
) {
  const log: string[] = []
  const lifts: Lifting[] = []
  const demand = createDemand({ onUnserved: () => {}, nowMs: () => Date.now() })
  const begunMs = Date.now()
  const leaving = new AbortController()
  let epoch = 1
  const inbox: StreamInbox = {
    stream: 1,
    epoch: () => epoch,
    worker: () => null,
    ids: () => Uint32Array.from(options.ids ?? []),
    expect: ({ worker, nonce }) => void log.push(`expect ${worker} ${nonce}`),
    raise({ restart }) {
      epoch += 1
      log.push(restart ? 'raise and restart' : 'raise')
      return epoch
    },
    lose: (reason) => void log.push(`lose ${reason}`),
    close: () => undefined,
    [Symbol.asyncIterator]: () => ({ next: async () => ({ value: undefined, done: true }) }),
  }
  const dispatch = createDispatch({
    record: {
      async lift(lifting) {
        lifts.push(lifting)
        log.push(`lift ${lifting.epoch}`)
        await options.lifted
        const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? WAITING
        if (answer instanceof Error) throw answer
        return answer
      },
    },
    tickets: {
      async add() {
        log.push('ticket')
        if (options.ticketsFail === true) throw new Error('the queue Redis is away')
      },
    },
    picture: {
      find: () =>
        options.served === false
          ? null
          : {
              slots: 4,
              running: options.room === false ? 4 : 0,
              meanGenerationMs: null,
              contextWindow: 4_096,
            },
    },
    modelStates: {
      startsWithin: (_model, limitMs) =>
        options.startsAtMs !== undefined && begunMs + options.startsAtMs - Date.now() <= limitMs,
    },
    demand,
    pace: createPace(),
    noWorkerLimitMs: 5_000,
    nowMs: () => Date.now(),
    bounds: { accountBytes: 1_000, modelBytes: 4_000 },
    watchWorker: (worker) => log.push(`watch ${worker}`),
    unwatchWorker: (worker) => log.push(`unwatch ${worker}`),
    log: pino({ level: 'silent' }),
  })
  const dispatched = dispatch({
    job: generationJob(),
    accountId: 'account-1',
    cost: 300,
    promptTokens: 40,
    admission: {
      mostAhead: 5,
      grammars: { compiled: () => {}, leave: () => {} },
      leave: () => {},
      refuse: () => new ApiError('model_busy', 'Busy.', { retryAfterS: 3 }),
    },
    inbox,
    signal: leaving.signal,
    claimFound: (worker) => log.push(`found ${worker}`),
    remainingMs: () => begunMs + 60_000 - Date.now(),
  })
  const after = async (ms: number) => await vi.advanceTimersByTimeAsync(ms)
  const waiting = () => {
    const [load] = Object.values(demand.read())
    return [load?.waiting ?? 0, load?.waitingTokens ?? 0]
  }
  return { dispatched, log, lifts, after, waiting, leave: () => leaving.abort() }
}

const NEXT = { restart: false, need: '', hold: null }

test('it is lifted, and its ticket is sent without waiting for the answer', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { dispatched, log, lifts, after } = setUp([WAITING], { lifted: promise })
  const begun = dispatched.begin()
  await after(0)
  expect(log).toEqual(['lift 1', 'ticket'])
  resolve()
  await begun
  expect(lifts[0]).toMatchObject({
    epoch: 1,
    tag: null,
    needs: { features: ['chat'], window: 0 },
    place: { accountId: 'account-1', cost: 300, mostAhead: 5 },
    ids: new Uint32Array(0),
    promptTokens: null,
  })
  dispatched.close()
})

test('a ticket that was executed before its lift is added again', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { dispatched, log, after } = setUp([WAITING], { lifted: promise })
  const begun = dispatched.begin()
  await after(10)
  resolve()
  await begun
  expect(log).toEqual(['lift 1', 'ticket', 'ticket'])
  dispatched.close()
})

test('one whose ticket cannot be added waits all the same', async () => {
  const { dispatched, waiting } = setUp([WAITING], { ticketsFail: true })
  await dispatched.begin()
  expect([dispatched.mayBeQueued(), waiting()]).toEqual([true, [1, 40]])
  dispatched.close()
})

test('one that the record refuses is busy, and is not queued', async () => {
  const { dispatched, log } = setUp([{ status: 'busy', reason: 'queue', ahead: 9 }])
  await expect(dispatched.begin()).rejects.toMatchObject({ code: 'model_busy' })
  expect(log).toEqual(['lift 1', 'ticket'])
  expect(dispatched.mayBeQueued()).toBe(false)
})

test('a queue that does not answer is model_unavailable; it may be queued all the same', async () => {
  const { dispatched } = setUp([new Error('Command timed out')])
  await expect(dispatched.begin()).rejects.toMatchObject({ code: 'model_unavailable' })
  expect(dispatched.mayBeQueued()).toBe(true)
})

test('unclaimed for 3 s it is lifted again under its tag, with a new ticket', async () => {
  const { dispatched, log, lifts, after } = setUp()
  await dispatched.begin()
  await after(2_999)
  expect(log).toEqual(['lift 1', 'ticket'])
  await after(1)
  expect(log).toEqual(['lift 1', 'ticket', 'lift 1', 'ticket'])
  expect(lifts[1]?.tag).toBe(7)
  dispatched.close()
  await after(60_000)
  expect(lifts).toHaveLength(2)
})

test('while no engine has room the looks become rarer, and add no tickets', async () => {
  const { dispatched, log, after } = setUp([WAITING], { room: false })
  await dispatched.begin()
  await after(3_000 + 6_000 + 12_000 + 12_000)
  expect(log).toEqual(['lift 1', 'ticket', 'lift 1', 'lift 1', 'lift 1', 'lift 1'])
  dispatched.close()
})

test('a claim that was found is watched and asked about, until the worker is heard', async () => {
  const { dispatched, log, after } = setUp([WAITING, CLAIMED])
  await dispatched.begin()
  await after(3_000)
  expect(log.slice(2)).toEqual(['lift 1', 'found worker-1', 'watch worker-1', 'expect worker-1 n1'])
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  await after(60_000)
  expect(log).toHaveLength(6)
  dispatched.close()
  expect(log.at(-1)).toBe('unwatch worker-1')
})

test('without a worker for its model it is lost after a while', async () => {
  const { dispatched, log, after } = setUp([WAITING], { served: false })
  await dispatched.begin()
  await after(3_000)
  expect(log.join()).not.toContain('lose')
  await after(6_000)
  expect(log.at(-1)).toBe('lose no-worker')
  dispatched.close()
})

test('while a worker is predicted to be ready before its deadline, it is not lost for want of one', async () => {
  const { dispatched, log, after } = setUp([WAITING], { served: false, startsAtMs: 50_000 })
  await dispatched.begin()
  await after(55_000)
  expect(log.join()).not.toContain('lose')
  dispatched.close()
})

test('a worker that is predicted for after its deadline is not waited for', async () => {
  const { dispatched, log, after } = setUp([WAITING], { served: false, startsAtMs: 70_000 })
  await dispatched.begin()
  await after(9_000)
  expect(log.at(-1)).toBe('lose no-worker')
  dispatched.close()
})

test('it counts as waiting, with its estimated prompt, until a worker claims it', async () => {
  const { dispatched, waiting } = setUp()
  expect(waiting()).toEqual([0, 0])
  await dispatched.begin()
  expect(waiting()).toEqual([1, 40])
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  expect(waiting()).toEqual([0, 0])
  dispatched.close()
})

test('again it counts as waiting, with the prompt as counted and its output, until it ends', async () => {
  const { dispatched, waiting } = setUp([WAITING], { ids: [5, 6] })
  await dispatched.begin()
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  await dispatched.again(NEXT)
  expect(waiting()).toEqual([1, 32])
  dispatched.close()
  expect(waiting()).toEqual([0, 0])
})

test('one that is refused does not wait', async () => {
  const { dispatched, waiting } = setUp([{ status: 'busy', reason: 'queue', ahead: 9 }])
  await expect(dispatched.begin()).rejects.toThrow('Busy.')
  expect(waiting()).toEqual([0, 0])
})

test('one that was settled by another is lost', async () => {
  const { dispatched, log, after } = setUp([WAITING, { status: 'settled' }])
  await dispatched.begin()
  await after(3_000)
  expect(log.at(-1)).toBe('lose settled')
  dispatched.close()
})

test('again: the fence first, then the ids, with the first claim’s count; then looked after as before', async () => {
  const { dispatched, log, lifts, after } = setUp([WAITING], { ids: [5, 6] })
  await dispatched.begin()
  dispatched.claimed({ worker: 'worker-1', promptTokens: 30 })
  await dispatched.again(NEXT)
  expect(log.slice(2)).toEqual(['watch worker-1', 'unwatch worker-1', 'raise', 'lift 2', 'ticket'])
  expect(lifts[1]).toMatchObject({
    epoch: 2,
    ids: Uint32Array.of(5, 6),
    promptTokens: 30,
    needs: { features: ['chat', 'continue'] },
  })
  await after(3_000)
  expect(log.at(-2)).toBe('lift 2')
  dispatched.close()
})

test('a misfit’s need is added, and a restart needs no continuation', async () => {
  const { dispatched, lifts } = setUp()
  await dispatched.begin()
  await dispatched.again({ ...NEXT, need: 'window:65536' })
  await dispatched.again({ ...NEXT, need: 'vision', restart: true })
  expect(lifts[1]?.needs).toEqual({ features: ['chat'], window: 65_536 })
  expect(lifts[2]?.needs).toEqual({ features: ['chat', 'vision'], window: 65_536 })
  dispatched.close()
})

test('a new hold replaces the old one in the record and in the settlement', async () => {
  const { dispatched, lifts } = setUp()
  await dispatched.begin()
  const hold = { ...dispatched.job().hold, amountNano: '42' }
  await dispatched.again({ ...NEXT, hold })
  expect(lifts[1]?.job.jobText).toContain('"amountNano":"42"')
  expect(dispatched.job().hold).toEqual(hold)
  dispatched.close()
})

test('a caller who leaves meanwhile ends the repetition', async () => {
  const { dispatched, leave, lifts } = setUp([WAITING, new Error('closed')])
  await dispatched.begin()
  vi.useRealTimers()
  const again = dispatched.again(NEXT)
  leave()
  await again.catch(() => undefined)
  expect(lifts.length).toBeLessThan(4)
  dispatched.close()
})
