import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Bounds, GenerationRecord, Lift } from '#libs/generation-record/generation-record.ts'
import type { Needs } from '#libs/generation-record/needs.ts'
import {
  NO_ENGINE_DEATHS,
  packJob,
  repackHold,
  type EngineDeaths,
  type PackedJob,
} from '#libs/generation-record/pack-job.ts'
import type { JobQueue } from '#libs/job-queue/job-queue.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ClusterPicture } from '../demand/cluster-picture.ts'
import type { Demand } from '../demand/demand.ts'
import type { KnownModelStates } from '../demand/model-states.ts'
import type { Admission } from './admit.ts'
import { NO_NEW_WORK, orUnavailable } from './or-unavailable.ts'
import { OwnJob } from './own-job.ts'
import type { Pace } from './pace.ts'

/** A generation's way to a worker: into the queue, and back into it after each loss. */
export type Dispatched = {
  /**
   * Queues it, and returns how many are ahead of it, or null where a worker has it already. Throws `model_busy`, or
   * `model_unavailable`; after the latter it may be queued all the same.
   */
  begin(): Promise<number | null>
  /** A worker runs it: it is not looked after any more. */
  claimed(claim: { worker: string; promptTokens: number }): void
  /** The engine gives tokens in this epoch: others that were lost may follow. */
  running(): void
  /**
   * Queues it again, at the front: in the next epoch, after the ids that the inbox has, or from nothing. Repeats until
   * the queue answers. Resolves without having queued it when its caller has left, and when the epoch is lost meanwhile: by
   * its deadline, for want of a worker, or by another loss that the inbox is told. Late events of the epoch before are
   * refused from now on.
   */
  again(next: Next): Promise<void>
  /** Stops looking after it. */
  close(): void
  /** With its latest hold. */
  job(): GenerationJob
  /** False as long as no lift was tried, or it was refused. */
  mayBeQueued(): boolean
}

type Next = {
  readonly restart: boolean
  readonly need: string
  readonly hold: Hold | null
  readonly engineDeaths: EngineDeaths
}

export type Dispatch = (generation: Generation) => Dispatched

type Generation = {
  readonly job: GenerationJob
  readonly accountId: string
  /** Expected tokens: how far it advances its account's tag. */
  readonly cost: number
  /** Its prompt, as estimated. */
  readonly promptTokens: number
  readonly admission: Admission
  readonly inbox: StreamInbox
  readonly signal: AbortSignal
  /** A look has found that this worker claimed it, before any event of it was received. */
  readonly claimFound: (worker: string) => void
  /** What remains until its deadline, in ms. */
  readonly remainingMs: () => number
}

/** What no worker has claimed for this long may have lost its job, its record, or the worker that claimed it. */
const FIRST_LOOK_MS = 3_000
/** While no engine has room, a longer pause: thousands that wait would cost thousands of looks a second. */
const LAST_LOOK_MS = 12_000
/** A worker that claims it at its deadline ends it at once; its event may arrive so much later. */
const LATE_CLAIM_MS = 2_000
const REPEAT = { firstPauseMs: 50, lastPauseMs: 1_000 }

const NO_IDS = new Uint32Array(0)

type Deps = {
  readonly record: Pick<GenerationRecord, 'lift'>
  readonly jobs: Omit<JobQueue, 'close'>
  readonly picture: Pick<ClusterPicture, 'find'>
  readonly modelStates: Pick<KnownModelStates, 'startsWithin'>
  readonly demand: Pick<Demand, 'wait'>
  readonly pace: Pace
  readonly bounds: Bounds
  /** A generation is lost when for this long no ready worker served its model and none was about to. */
  readonly noWorkerLimitMs: number
  readonly nowMs: () => number
  readonly watchWorker: (worker: string) => void
  readonly unwatchWorker: (worker: string) => void
  readonly log: Logger
}

/**
 * A record says who may run a generation, a job of the queue only gives a worker a turn: so every step is a lift of the
 * record, which may be repeated, then a job. As long as no worker has been heard, it is lifted again after 3 s, which finds
 * out what became of it: a lost record is created anew, a lost job replaced where an engine has room, and the worker that
 * claimed it is watched and asked. What ends before a worker was heard takes its job away.
 *
 * While no worker is ready it waits for `noWorkerLimitMs`, since one may never come. Where a scaler predicts that a
 * worker is ready before the deadline, the limit does not run: the start of a large model takes longer than it. Both
 * limits, and its deadline, hold wherever it waits: for the pace, for the queue's answer, for a claim.
 */
export function createDispatch(deps: Deps): Dispatch {
  return (generation) => new DispatchedGeneration(deps, generation)
}

/** A class, because a gateway has one for each open stream: twenty closures in its place take 1.2 KB. */
class DispatchedGeneration implements Dispatched {
  readonly #deps: Deps
  readonly #generation: Generation
  readonly #ownJob: OwnJob
  #packed: PackedJob | null = null
  #current: GenerationJob
  #tag: number | null = null
  #epoch = 1
  #ids: Uint32Array = NO_IDS
  #promptTokens: number | null = null
  #engineDeaths = NO_ENGINE_DEATHS
  #needs: Needs
  #watched: string | null = null
  #timer: NodeJS.Timeout | undefined
  #waitsForWorker = false
  #isQueued = false
  #mayBeQueued = false
  #endPace: (() => void) | null = null
  #endWait: (() => void) | null = null
  #servedMs: number

  constructor(deps: Deps, generation: Generation) {
    const { job } = generation
    this.#deps = deps
    this.#generation = generation
    this.#ownJob = new OwnJob(deps.jobs, generation, (error) => this.#warn(error, 'no job was added'))
    this.#current = job
    this.#needs = { features: [job.request.kind], window: 0 }
    this.#servedMs = deps.nowMs()
  }

  async begin() {
    this.#mayBeQueued = true
    const lifted = await orUnavailable(this.#liftWithJob(), NO_NEW_WORK)
    if (lifted.status === 'busy') {
      this.#mayBeQueued = false
      throw this.#generation.admission.refuse(lifted)
    }
    if (lifted.status === 'waiting') this.#tag = lifted.tag
    this.#isQueued = true
    this.#startWait()
    this.#lookAfter()
    return lifted.status === 'waiting' ? lifted.ahead : null
  }

  claimed(claim: { worker: string; promptTokens: number }) {
    this.#stopLooking()
    this.#ownJob.forget()
    this.#watch(claim.worker)
    this.#promptTokens ??= claim.promptTokens
    // While it runs, only a compressed request is worth its memory: a loss seldom comes, and packs a small one again.
    if (this.#packed?.requestBytes.length === 0) this.#packed = null
  }

  running() {
    this.#leavePace()
  }

  async again({ restart, need, hold, engineDeaths }: Next) {
    const { job, inbox } = this.#generation
    this.#stopLooking()
    this.#ownJob.takeAway()
    this.#leavePace()
    this.#unwatch()
    // The fence first, then the ids: a late frame in between would be repeated by the next worker.
    this.#epoch = inbox.raise({ restart })
    this.#ids = inbox.ids()
    this.#engineDeaths = engineDeaths
    if (hold !== null) {
      this.#current = { ...this.#current, hold }
      if (this.#packed !== null) this.#packed = repackHold(this.#packed, hold)
    }
    this.#needs = nextNeeds(this.#needs, { need, continues: this.#ids.length > 0 })
    this.#startWait()
    this.#isQueued = false
    // From here on, so that those that wait for their turn are told of the want of a worker when the others are.
    this.#lookAfter()
    let isOver = false
    const over = inbox.untilOver().then(() => (isOver = true))
    this.#endPace = await this.#deps.pace(job.model, (this.#promptTokens ?? 0) + this.#ids.length, over)
    if (isOver) return
    const lift = async () => await this.#liftWithJob()
    // Rejects only when it is over, which the inbox says to who reads it.
    await untilAnswered(lift, { ...REPEAT, giveUp: () => isOver }).catch(() => undefined)
    this.#isQueued = true
  }

  close() {
    this.#stopLooking()
    this.#ownJob.takeAway()
    this.#leavePace()
    this.#unwatch()
  }

  job() {
    return this.#current
  }

  mayBeQueued() {
    return this.#mayBeQueued
  }

  async #pack(): Promise<PackedJob> {
    this.#packed ??= await packJob(this.#current)
    return this.#packed
  }

  /** The command is sent before this returns. */
  async #lift(packedJob: PackedJob): Promise<Lift> {
    const { accountId, cost, admission, remainingMs } = this.#generation
    return await this.#deps.record.lift({
      job: packedJob,
      epoch: this.#epoch,
      needs: this.#needs,
      tag: this.#tag,
      place: { accountId, cost, mostAhead: admission.mostAhead },
      bounds: this.#deps.bounds,
      remainingMs: remainingMs(),
      ids: this.#ids,
      promptTokens: this.#promptTokens,
      engineDeaths: this.#engineDeaths,
    })
  }

  /**
   * The lift and its job are sent without waiting for each other: they share a connection, so Redis executes the lift
   * first. A server that has to be sent the script's text executes it last: then the job is answered first, and another
   * is added. What waits without a job is claimed within a second where there is room. The job of a lift that is refused
   * is taken away.
   */
  async #liftWithJob(): Promise<Lift> {
    const packedJob = await this.#pack()
    let isAnswered = false
    const lifting = this.#lift(packedJob)
    void this.#ownJob.add(this.#epoch).then(() => (isAnswered = true))
    const lifted = await lifting
    if (lifted.status !== 'waiting') this.#ownJob.takeAway()
    else if (isAnswered) void this.#ownJob.replace()
    return lifted
  }

  #watch(worker: string): void {
    if (this.#watched === worker) return
    this.#unwatch()
    this.#watched = worker
    this.#deps.watchWorker(worker)
  }

  #unwatch(): void {
    if (this.#watched !== null) this.#deps.unwatchWorker(this.#watched)
    this.#watched = null
  }

  /** Others that were lost may follow. */
  #leavePace(): void {
    this.#endPace?.()
    this.#endPace = null
  }

  /** From here on it counts as demand. */
  #startWait(): void {
    const { job, promptTokens } = this.#generation
    this.#endWait?.()
    this.#endWait = this.#deps.demand.wait(job.model, (this.#promptTokens ?? promptTokens) + this.#ids.length)
  }

  #lookAfter(): void {
    this.#waitsForWorker = true
    this.#servedMs = this.#deps.nowMs()
    this.#lookLater(FIRST_LOOK_MS)
  }

  #lookLater(pauseMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#look()
        .catch((error: unknown) => this.#warn(error, 'a look at the record failed'))
        .finally(() => this.#goOnWaiting(pauseMs))
    }, pauseMs)
  }

  /** After a look, whether the record has answered or not. */
  #goOnWaiting(lastPauseMs: number): void {
    if (!this.#waitsForWorker) return
    const { inbox, remainingMs } = this.#generation
    const pauseMs = this.#hasRoom() ? FIRST_LOOK_MS : Math.min(LAST_LOOK_MS, lastPauseMs * 2)
    const unservedMs = this.#deps.nowMs() - this.#servedMs
    const hopeMs = unservedMs > 0 ? this.#deps.noWorkerLimitMs - unservedMs : Infinity
    const leftMs = Math.min(hopeMs, remainingMs() + LATE_CLAIM_MS)
    if (leftMs > 0) return this.#lookLater(Math.min(pauseMs, leftMs))
    this.#stopLooking()
    inbox.lose(hopeMs > 0 ? 'deadline' : 'no-worker')
  }

  #hasRoom(): boolean {
    const { picture, modelStates, nowMs } = this.#deps
    const { job, remainingMs } = this.#generation
    const serving = picture.find(job.model)
    if (serving !== null || modelStates.startsWithin(job.model, remainingMs())) this.#servedMs = nowMs()
    return serving !== null && serving.running < serving.slots
  }

  async #look(): Promise<void> {
    const { inbox, claimFound } = this.#generation
    if (!this.#isQueued) return
    const looked = this.#epoch
    const found = await this.#lift(await this.#pack())
    if (!this.#waitsForWorker || looked !== this.#epoch) return
    const room = this.#hasRoom()
    if (found.status === 'waiting' && room) await this.#ownJob.replace()
    if (found.status === 'claimed') {
      claimFound(found.worker)
      this.#watch(found.worker)
      inbox.expect(found)
    }
    if (found.status === 'settled') inbox.lose('settled')
  }

  #stopLooking(): void {
    this.#waitsForWorker = false
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#endWait?.()
    this.#endWait = null
  }

  #warn(error: unknown, what: string): void {
    this.#deps.log.warn({ err: error, requestId: this.#generation.job.id }, what)
  }
}

/** What a worker must be able to do to go on with it: after a misfit, what the one before could not. */
function nextNeeds(before: Needs, { need, continues }: { need: string; continues: boolean }): Needs {
  const features = new Set(before.features)
  if (continues) features.add('continue')
  else features.delete('continue')
  const window = /^window:(\d+)$/.exec(need)
  if (window !== null) return { features: [...features], window: Math.max(before.window, Number(window[1])) }
  if (need !== '') features.add(need)
  return { ...before, features: [...features] }
}
