import { pino } from 'pino'
import { vi } from 'vitest'
import { createDemand } from '#apps/gateway/demand/demand.ts'
import { createDispatch } from '#apps/gateway/generation/dispatch/dispatch.ts'
import type { StartWait } from '#apps/gateway/generation/admission/start-waits.ts'
import { createResumeLimiter, type ResumeLimiter } from '#apps/gateway/generation/dispatch/resume-limiter.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { EnqueueAnswer, Enqueueing } from '#libs/generation-record/generation-record.ts'
import { NO_SEATS, type Seats } from '#libs/generation-record/seats.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { generationJob, enqueuePlace } from '../../../../../support/generation-job.ts'

export const WAITING: EnqueueAnswer = { status: 'waiting', tag: 7, ahead: 0, costAhead: 0, home: null }
export const CLAIMED: EnqueueAnswer = { status: 'claimed', worker: 'worker-1', nonce: 'n1' }

/** Returns the epoch and the number in a job's id, without the generation's id, which is random. */
const short = (id: string) => id.slice(id.indexOf('.') + 1)

/** Sets up a dispatched generation. The record gives these answers in order and repeats the last one. */
export function setUp(
  answers: (EnqueueAnswer | Error)[] = [WAITING],
  options: {
    room?: boolean
    served?: boolean
    ids?: number[]
    startsAtMs?: number
    enqueued?: Promise<void>
    jobsFail?: boolean
    job?: GenerationJob
    /** If true, a job of the model always waits. */
    jobsWait?: boolean
    seats?: Seats
    /** If false, the home of the generation is not ready, or has too much to do. */
    accepted?: boolean
    /** The worker that has claimed the generation according to its record. */
    claimant?: string
    /** If true, a look reaches no worker. */
    looksUnheard?: boolean
    resumeLimiter?: ResumeLimiter
    startWait?: StartWait
  } = {},
) {
  const { resumeLimiter = createResumeLimiter() } = options
  const log: string[] = []
  const enqueues: Enqueueing[] = []
  const demand = createDemand({ onUnserved: () => {}, nowMs: () => Date.now() })
  const begunMs = Date.now()
  const leaving = new AbortController()
  const over = Promise.withResolvers<void>()
  leaving.signal.addEventListener('abort', () => over.resolve())
  let epoch = 1
  const inbox: StreamInbox = {
    stream: 1,
    epoch: () => epoch,
    worker: () => null,
    ids: () => Uint32Array.from(options.ids ?? []),
    idCount: () => (options.ids ?? []).length,
    choices: () => null,
    expect: ({ worker, nonce }) => void log.push(`expect ${worker} ${nonce}`),
    raise({ restart }) {
      epoch += 1
      log.push(restart ? 'raise and restart' : 'raise')
      return epoch
    },
    lose(reason) {
      log.push(`lose ${reason}`)
      over.resolve()
    },
    untilOver: async () => await over.promise,
    close: () => undefined,
    [Symbol.asyncIterator]: () => ({ next: async () => ({ value: undefined, done: true }) }),
  }
  const dispatch = createDispatch({
    record: {
      async enqueue(enqueueing) {
        enqueues.push(enqueueing)
        log.push(`enqueue ${enqueueing.epoch}`)
        await options.enqueued
        const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? WAITING
        if (answer instanceof Error) throw answer
        return answer
      },
      leaveHome: async () => void log.push('leave home'),
      claimant: async () => options.claimant ?? null,
    },
    jobs: {
      async add({ id }) {
        log.push(`add ${short(id)}`)
        if (options.jobsFail === true) throw new Error('the queue Redis is away')
      },
      async addIfNoneWaits({ id }) {
        if (options.jobsWait === true) return false
        log.push(`add ${short(id)}`)
        return true
      },
      async remove({ id }) {
        log.push(`remove ${short(id)}`)
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
              slotTokensPerS: null,
              contextWindow: 4_096,
            },
    },
    modelStates: {
      startsWithin: (_model, limitMs) =>
        options.startsAtMs !== undefined && begunMs + options.startsAtMs - Date.now() <= limitMs,
    },
    demand,
    resumeLimiter,
    noWorkerLimitMs: 5_000,
    nowMs: () => Date.now(),
    bounds: { accountBytes: 1_000, modelBytes: 4_000 },
    watchWorker: (worker) => log.push(`watch ${worker}`),
    unwatchWorker: (worker) => log.push(`unwatch ${worker}`),
    async sendLook(worker) {
      log.push(`look ${worker}`)
      return options.looksUnheard !== true
    },
    onHomeWaitEnd: (end) => log.push(end),
    log: pino({ level: 'silent' }),
  })
  const dispatched = dispatch({
    job: options.job ?? generationJob(),
    promptTokens: 40,
    admission: {
      place: enqueuePlace({ cost: 300, mostAhead: 5 }),
      startWait: options.startWait ?? null,
      queued: () => {},
      claimed: () => {},
      compiled: () => {},
      leave: () => {},
      refuse: () => new ApiError('model_busy', 'Busy.', { retryAfterS: 3 }),
      notStarted: () => new ApiError('model_warming', 'Starting.'),
    },
    seating: {
      seats: options.seats ?? NO_SEATS,
      accept: () => options.accepted !== false,
    },
    inbox,
    signal: leaving.signal,
    remainingMs: () => begunMs + 60_000 - Date.now(),
  })
  const after = async (ms: number) => await vi.advanceTimersByTimeAsync(ms)
  const waiting = () => Object.values(demand.read())[0]?.waitingTokens ?? 0
  return { dispatched, log, enqueues, after, waiting, leave: () => leaving.abort() }
}

export const NEXT = { restart: false, requirement: '', hold: null, engineDeaths: 0 }

/** Sets up a generation that waits for its turn to be read again, because another generation does not end its turn. */
export async function paced(options: NonNullable<Parameters<typeof setUp>[1]>) {
  const resumeLimiter = createResumeLimiter(1)
  const running = new Promise(() => {})
  await resumeLimiter('demo-chat', 1, running)
  const under = setUp([WAITING], {
    ...options,
    ids: [5],
    resumeLimiter: async (_, tokens, over) => await resumeLimiter('demo-chat', tokens, over),
  })
  await under.dispatched.begin()
  const again = under.dispatched.again(NEXT)
  await under.after(0)
  return { ...under, again }
}
