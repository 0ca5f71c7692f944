import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Bounds, GenerationRecord, Lift, Seats } from '#libs/generation-record/generation-record.ts'
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
import type { WarmOffer } from './warm-offer.ts'

/*
 * Brings a generation to a worker, and to another worker after each loss. The record says who may run the generation. A
 * job of the queue only gives a worker a turn. So every step is a lift of the record, which may be repeated, and then a
 * job. A look is a repeated lift of the present epoch: it reports what became of the generation, and creates a lost
 * record anew.
 *
 * NEW
 *   Nothing is queued. `begin` sends the first lift and its job.
 *   - The record answers `busy`: nothing is queued, and `begin` throws `model_busy`. Still NEW.
 *   - Redis does not answer, or its memory is full: `begin` throws `model_unavailable`. The generation may be queued all
 *     the same.
 *   - The record gives any other answer: WAITING.
 *
 * WAITING
 *   The generation is queued and counts as demand. No claim of this epoch has arrived. The first look comes after 3 s.
 *   The next one comes after 3 s while an engine has room, else after a pause that doubles up to 12 s.
 *   - A look finds the generation waiting while an engine has room: the job may be lost, so it is replaced, unless other
 *     jobs of the model wait.
 *   - A look finds a claim: the worker is watched, and the inbox asks the worker for its events.
 *   - A look finds a settlement: the inbox is lost as `settled`.
 *   - A look fails or finds anything else: nothing changes.
 *   - `claimed`, when the claim arrives: RUNNING.
 *   - `again`, when the inbox is lost or the worker declines: RETURNING.
 *   - No ready worker, and none predicted in time, for `noWorkerLimitMs`: the inbox is lost as `no-worker`, STOPPED.
 *   - 2 s after the deadline: the inbox is lost as `deadline`, STOPPED.
 *
 *   A turn of a conversation may be offered to the worker that had the turn before (`warm-offer.ts`). Then its job is
 *   delayed for a moment, and becomes due if nobody claims the generation.
 *
 * RUNNING
 *   The claim has arrived, and its worker is watched. There are no looks, and the generation is no demand.
 *   - `running`, at each output: the generation's turn at the pace ends, if it has one.
 *   - `again`, as above: RETURNING.
 *
 * RETURNING
 *   `again` has raised the inbox to the next epoch. The old job is taken away, and no worker is watched. The generation
 *   counts as demand. It waits for a turn at the pace, then sends the lift and its job until the record answers.
 *   - The record answers: WAITING. If it does not answer `waiting`, the next look finds out what became of the
 *     generation.
 *   - The inbox is lost or closed for another reason: `again` resolves, before the lift or after its next failure. The
 *     caller ends the generation or calls `again` anew.
 *   - A limit is reached, as in WAITING: STOPPED.
 *
 * STOPPED
 *   There are no looks. The caller reads the loss from the inbox and ends the generation.
 *
 * CLOSED
 *   `close`, from all: there are no looks, no demand, no turn at the pace and no watched worker. The job is taken away,
 *   unless the claim has arrived.
 */

/** Queues a generation, and queues it again after each loss of its worker. */
export type Dispatched = {
  /**
   * Queues the generation. Returns how many generations wait before it, or null if it does not wait any more, for
   * example because a worker has claimed it already. Throws `model_busy` or `model_unavailable`. After
   * `model_unavailable` the generation may be queued all the same.
   */
  begin(): Promise<number | null>
  /** The worker's claim of this epoch has arrived, so the looks end. */
  claimed(claim: { worker: string; promptTokens: number }): void
  /** The engine gives output in this epoch, so the next lost generation may be queued (`pace.ts`). */
  running(): void
  /**
   * Queues the generation again, in the next epoch and at the front of the queue. The next worker continues after the
   * ids that the inbox has, or begins anew with `restart`. The lift is repeated until the queue answers. Late events of
   * earlier epochs are refused from now on.
   *
   * Resolves without having queued the generation if the epoch is over meanwhile: the caller has left, or the inbox is
   * lost for any reason.
   */
  again(next: Next): Promise<void>
  /** Ends the looks. Takes the job away, unless the claim has arrived. */
  close(): void
  /** Returns the job with its latest hold. */
  job(): GenerationJob
  /** Replaces the hold by a larger one, with which the generation continues if its worker is lost. */
  growHold(hold: Hold): void
  /** False before the first lift, and after the record has refused it as `busy`. */
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
  /** The expected tokens of prompt and output. The account's tag advances by this number. */
  readonly cost: number
  /** The estimated tokens of the prompt. */
  readonly promptTokens: number
  readonly admission: Admission
  readonly seats: Seats
  readonly inbox: StreamInbox
  readonly signal: AbortSignal
  /** Called when a look finds that this worker has claimed the generation, before any event of the worker arrives. */
  readonly claimFound: (worker: string) => void
  /** Returns the time until the generation's deadline, in ms. */
  readonly remainingMs: () => number
}

/** After so long without a claim, the job, the record or the worker that claimed the generation may be lost. */
const FIRST_LOOK_MS = 3_000
/**
 * The longest pause between two looks while no engine has room. If thousands of generations wait, shorter pauses would
 * cost thousands of looks a second.
 */
const LAST_LOOK_MS = 12_000
/** A worker that claims a generation at its deadline ends it at once. Its event may arrive this much later. */
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
  readonly openOffer: (job: OwnJob) => WarmOffer
  readonly bounds: Bounds
  /** A generation is lost if for so long no ready worker serves its model and none is predicted to be ready in time. */
  readonly noWorkerLimitMs: number
  readonly nowMs: () => number
  readonly watchWorker: (worker: string) => void
  readonly unwatchWorker: (worker: string) => void
  readonly log: Logger
}

/**
 * Creates the dispatch of this gateway's generations.
 *
 * While no worker is ready, a generation waits for `noWorkerLimitMs` at most, because a worker may never come. The
 * limit does not run while a scaler predicts that a worker is ready before the deadline: the start of a large model
 * takes longer than the limit. The limit and the deadline hold for every wait after the first lift: for a turn at the
 * pace, for the queue's answer, and for a claim.
 */
export function createDispatch(deps: Deps): Dispatch {
  return (generation) => new DispatchedGeneration(deps, generation)
}

/** A class, because a gateway has one for each open stream, and twenty closures instead would take 1.2 KB. */
class DispatchedGeneration implements Dispatched {
  readonly #deps: Deps
  readonly #generation: Generation
  readonly #ownJob: OwnJob
  readonly #offer: WarmOffer
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
    this.#offer = deps.openOffer(this.#ownJob)
    this.#current = job
    this.#needs = { features: [job.request.kind], window: 0 }
    this.#servedMs = deps.nowMs()
  }

  async begin() {
    this.#mayBeQueued = true
    const { seats } = this.#generation
    const lifting = seats.sought.length > 0 ? this.#liftAndOffer() : this.#liftWithJob()
    const lifted = await orUnavailable(lifting, NO_NEW_WORK)
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
    this.#offer.claimed(claim.worker)
    this.#ownJob.forget()
    this.#watch(claim.worker)
    this.#promptTokens ??= claim.promptTokens
    // While a generation runs, only a compressed request is worth its memory: losses are rare, and a small request is
    // quickly packed again.
    if (this.#packed?.requestBytes.length === 0) this.#packed = null
  }

  running() {
    this.#leavePace()
  }

  async again({ restart, need, hold, engineDeaths }: Next) {
    const { job, inbox } = this.#generation
    this.#stopLooking()
    this.#offer.withdraw()
    this.#ownJob.takeAway()
    this.#leavePace()
    this.#unwatch()
    // The epoch is raised before the ids are read. Otherwise a late frame in between would be accepted, and the next
    // worker would generate the same tokens again.
    this.#epoch = inbox.raise({ restart })
    this.#ids = inbox.ids()
    this.#engineDeaths = engineDeaths
    if (hold !== null) this.growHold(hold)
    this.#needs = nextNeeds(this.#needs, { need, continues: this.#ids.length > 0 })
    this.#startWait()
    this.#isQueued = false
    // The looks begin here, so that generations that wait for a turn at the pace are lost for want of a worker at the
    // same time as the other ones.
    this.#lookAfter()
    let isOver = false
    const over = inbox.untilOver().then(() => (isOver = true))
    this.#endPace = await this.#deps.pace(job.model, (this.#promptTokens ?? 0) + this.#ids.length, over)
    if (isOver) return
    const lift = async () => await this.#liftWithJob()
    // Rejects only when the epoch is over. The consumer of the inbox learns that from the inbox.
    await untilAnswered(lift, { ...REPEAT, giveUp: () => isOver }).catch(() => undefined)
    this.#isQueued = true
  }

  close() {
    this.#stopLooking()
    this.#offer.withdraw()
    this.#ownJob.takeAway()
    this.#leavePace()
    this.#unwatch()
  }

  job() {
    return this.#current
  }

  growHold(hold: Hold) {
    this.#current = { ...this.#current, hold }
    if (this.#packed !== null) this.#packed = repackHold(this.#packed, hold)
  }

  mayBeQueued() {
    return this.#mayBeQueued
  }

  async #pack(): Promise<PackedJob> {
    this.#packed ??= await packJob(this.#current)
    return this.#packed
  }

  /** Sends the command before the promise is returned. */
  async #lift(packedJob: PackedJob): Promise<Lift> {
    const { accountId, cost, admission, seats, remainingMs } = this.#generation
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
      seats,
    })
  }

  /**
   * Sends the lift and then its job, without waiting for an answer in between. Both use the same connection, so Redis
   * executes the lift first. A server that does not know the script receives the script's text in a second call, and
   * then executes the lift after the job. In that case the job is answered first, and a worker may have taken it in
   * vain, so another job is added. A generation that waits without a job is claimed within a second if an engine has
   * room. If the record does not answer `waiting`, the job is taken away.
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

  /** Adds the job after the lift's answer, which names the worker that may get an offer. */
  async #liftAndOffer(): Promise<Lift> {
    const { id, model } = this.#generation.job
    const lifted = await this.#lift(await this.#pack())
    if (lifted.status === 'waiting') this.#offer.queue({ id, model, epoch: this.#epoch }, lifted.warmWorker)
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

  /** Ends the generation's turn at the pace, so that the next lost generation may be queued. */
  #leavePace(): void {
    this.#endPace?.()
    this.#endPace = null
  }

  /** Counts the generation as demand until `#stopLooking`. */
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

  /** Called after each look, also if the record did not answer. Plans the next look, or loses the inbox at a limit. */
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

/** Returns what the next worker must be able to do. After a misfit, this includes what the last worker could not do. */
function nextNeeds(before: Needs, { need, continues }: { need: string; continues: boolean }): Needs {
  const features = new Set(before.features)
  if (continues) features.add('continue')
  else features.delete('continue')
  const window = /^window:(\d+)$/.exec(need)
  if (window !== null) return { features: [...features], window: Math.max(before.window, Number(window[1])) }
  if (need !== '') features.add(need)
  return { ...before, features: [...features] }
}
