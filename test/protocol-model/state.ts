/** The tokens of the whole answer: enough for a cut before it, within it and after it. */
export const TOKENS = 2
/** More epochs than the faults of any case can cause. */
export const MOST_EPOCHS = 7
/** The jobs that may wait at once: the generation's own job, and one that is doubled or left over. */
export const MOST_JOBS = 2
/** Writes that a failover can lose. */
export const MOST_LOST_WRITES = 2

export const PLACES = [0, 1] as const
export type Place = (typeof PLACES)[number]
/** A worker by its place. `gone` is a worker that died and whose place another process has taken. */
export type WorkerName = Place | 'gone'

export const FAULTS = [
  /** A worker's process ends. */
  'worker-dies',
  'gateway-dies',
  /** Redis falls back by one or two writes. */
  'failover',
  /** A command was executed, but its caller does not learn the answer. */
  'answer-lost',
  /** An enqueue is executed some time after the gateway gave it up. */
  'enqueue-delayed',
  /** The gateway takes a living worker for dead. */
  'worker-misjudged',
  /** Workers take the living gateway for dead: it was silent and its key was gone. */
  'gateway-misjudged',
  /** A worker does not receive the gateway's heartbeats, although its key is there. */
  'gateway-silent',
  /** A worker of a release that cannot continue a generation. */
  'worker-outdated',
  /** A worker that stops hands a running generation back. */
  'hand-back',
  /** Another generation kills a worker's engine, and the worker hands back its generations. */
  'engine-dies',
  /** A job of the queue is removed: a failover lost it, or an operator removed it. */
  'job-lost',
  /** A job of the queue exists twice. */
  'job-doubled',
  /** The caller disconnects. This does not count as a fault. */
  'hang-up',
] as const
export type Fault = (typeof FAULTS)[number]

/** How often each fault may still happen, and how many faults in total. */
export type Budget = Readonly<Record<Fault, number>> & { readonly total: number }

export type Settlement = { readonly usage: number; readonly by: 'gateway' | 'worker' }

export type StoredRecord = {
  readonly epoch: number
  readonly worker: WorkerName | null
  /** The usage with which it was settled. */
  readonly settled: number | null
  /** How many ids the enqueue of this epoch carried. */
  readonly ids: number
  readonly waiting: boolean
  /** For each worker, the epoch that the claim with its current nonce was given; 0 for none. */
  readonly given: readonly [number, number]
}

export type Store = {
  readonly record: StoredRecord | null
  /** Entries of the settlement stream that billing has not committed. */
  readonly stream: readonly Settlement[]
  /** Whether the generation was settled here. The model knows this even if the record was deleted. */
  readonly over: boolean
}

export type Gateway = {
  readonly doing: 'open' | 'over' | 'dead'
  readonly epoch: number
  /** The first worker of this epoch from which an event came. */
  readonly worker: WorkerName | null
  /** Whether the event came from the worker's second run of the epoch. */
  readonly fromAnew: boolean
  /** Tokens accepted in this epoch. */
  readonly accepted: number
  /** Tokens accepted in all epochs, which the client has received. */
  readonly delivered: number
  /** Tokens that the enqueue of this epoch carries. */
  readonly ids: number
  readonly enqueueWanted: boolean
  /** With the weaker rule that raises the fence too late: events of the previous epoch are still accepted. */
  readonly fencePending: boolean
  /** Deaths of engines that ran the generation, and of workers from which no token came in their epoch. */
  readonly deaths: number
  /** What the caller owes; null while the generation runs. */
  readonly due: number | null
  /** The settlement must still be sent. */
  readonly settling: boolean
  /** The settlement was answered and is kept, under this run of Redis. */
  readonly keptUnder: number | null
  /** The run of Redis that the gateway knows. */
  readonly run: number
}

export type Worker = {
  readonly up: boolean
  /** `present`, `suspect`: handed back after the death of its engine, with this blame. */
  readonly doing: 'idle' | 'claiming' | 'running' | 'ended' | 'handed-back' | 'present' | 'suspect'
  readonly epoch: number
  /** The number of ids after which the worker continues. */
  readonly after: number
  /** The tokens that exist, including the tokens after which the worker continues. */
  readonly made: number
  readonly outdated: boolean
  /** The last epoch that the worker ran and released. */
  readonly ran: number
  /** The worker runs its epoch a second time. */
  readonly anew: boolean
}

export type State = {
  readonly left: Budget
  readonly store: Store
  /** The earlier states to which a failover can return, oldest first. */
  readonly earlier: readonly Store[]
  /** The run of Redis: the number of failovers so far. */
  readonly run: number
  /** The gateway's liveness key was lost in a failover. */
  readonly keyMissing: boolean
  /** Jobs of the queue that wait: each gives a worker a turn. */
  readonly jobs: number
  readonly delayedEnqueue: { readonly epoch: number; readonly ids: number } | null
  readonly gateway: Gateway
  readonly workers: readonly [Worker, Worker]
  readonly billed: number | null
  /** The run of Redis in which billing has committed everything up to its mark, since the gateway's last answer. */
  readonly mark: number | null
  /** Workers have buried the living gateway. */
  readonly misjudged: boolean
  /** A description of a forbidden event that has happened. */
  readonly bad: string | null
}

export const IDLE: Worker = {
  up: true,
  doing: 'idle',
  epoch: 0,
  after: 0,
  made: 0,
  outdated: false,
  ran: 0,
  anew: false,
}

export function initialState(budget: Budget): State {
  return {
    left: budget,
    store: { record: null, stream: [], over: false },
    earlier: [],
    run: 0,
    keyMissing: false,
    jobs: 0,
    delayedEnqueue: null,
    gateway: {
      doing: 'open',
      epoch: 1,
      worker: null,
      fromAnew: false,
      accepted: 0,
      delivered: 0,
      ids: 0,
      enqueueWanted: true,
      fencePending: false,
      deaths: 0,
      due: null,
      settling: false,
      keptUnder: null,
      run: 0,
    },
    workers: [IDLE, IDLE],
    billed: null,
    mark: null,
    misjudged: false,
    bad: null,
  }
}

export function withGateway(state: State, change: Partial<Gateway>): State {
  return { ...state, gateway: { ...state.gateway, ...change } }
}

export function withWorker(state: State, place: Place, change: Partial<Worker>): State {
  const [first, second] = state.workers
  return {
    ...state,
    workers: place === 0 ? [{ ...first, ...change }, second] : [first, { ...second, ...change }],
  }
}

export function withMoreJobs(state: State, count: number): State {
  return { ...state, jobs: Math.max(0, Math.min(MOST_JOBS, state.jobs + count)) }
}

/** Returns a state in which the worker has released the generation. */
export function released(state: State, place: Place): State {
  const { epoch, ran } = state.workers[place]
  const idle = { doing: 'idle', epoch: 0, after: 0, made: 0, anew: false } as const
  return withWorker(state, place, { ...idle, ran: Math.max(epoch, ran) })
}

/** Returns a state with a violation; the first violation of a trace is kept. */
export function wrong(state: State, bad: string): State {
  return state.bad === null ? { ...state, bad } : state
}
