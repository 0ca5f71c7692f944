import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { isHopeless, isServable } from '#libs/contracts/model-state.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type {
  Bounds,
  GenerationRecord,
  EnqueueAnswer,
  Enqueueing,
} from '#libs/generation-record/generation-record.ts'
import { ALONE } from '#libs/generation-record/quarantine.ts'
import type { Requirements } from '#libs/generation-record/requirements.ts'
import { packJob, repackHold, type PackedJob } from '#libs/generation-record/pack-job.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { ClusterPicture } from '../../demand/cluster-picture.ts'
import type { Demand } from '../../demand/demand.ts'
import type { KnownModelStates } from '../../demand/model-states.ts'
import type { Admission } from '../admission/admit.ts'
import type { Seating } from './affinity.ts'
import { firstRequirements, nextRequirements } from './requirements-of-epoch.ts'
import { NO_NEW_WORK, orUnavailable } from '../request/or-unavailable.ts'
import { OwnJob, type JobDeps } from './own-job.ts'
import type { ResumeLimiter } from './resume-limiter.ts'
import type { StartWait } from '../admission/start-waits.ts'

/*
 * Brings a generation to a worker, and to another worker after each loss. The record says who may run the generation; a
 * job only makes a worker claim. So every step is an enqueue of the record, which may be repeated, and then a job. A look
 * is a repeated enqueue of the present epoch: it reports what became of the generation, and creates a lost record anew.
 * "Lost as X" means that the inbox reports to its reader the loss of the generation, with the reason X.
 *
 * NEW        `begin` sends the first enqueue and its job. If the record answers `busy`, `begin` throws the refusal. If
 *            Redis gives no answer, or its memory is full, `begin` throws `model_unavailable`, and it is unknown whether
 *            the generation is queued. After any other answer: WAITING.
 * WAITING    It counts as demand. Looks come every 3 s while an engine has room, else after pauses that double up to
 *            12 s. If a look finds that it still waits although an engine has room, the job is replaced, unless other
 *            jobs of the model wait. If a look finds a claim, the worker is watched, and the inbox asks it for events. If
 *            a look finds a settlement, the generation is lost as `settled`.
 *            `claimed`: RUNNING. `again`: RETURNING. At a limit it is lost, and STOPPED: as `no-worker` after
 *            `noWorkerLimitMs` without a ready or predicted worker; as `not-started`, in epoch 1, if its wait for the
 *            model's start is over or hopeless; as `deadline` 2 s after its deadline.
 *            In epoch 1 it may wait for its home, and gets its job afterwards (`own-job.ts`).
 * RUNNING    Its worker is watched. There are no looks, and it is no demand. `again`: RETURNING.
 * RETURNING  `again` has raised the inbox to the next epoch and taken the old job away. It counts as demand. It waits for
 *            a turn at the limiter (`resume-limiter.ts`), which ends at the first output, and then repeats the enqueue and
 *            its job until the record answers: WAITING. If the inbox is closed or lost meanwhile, `again` resolves
 *            without that, at the latest after the next failed attempt. Limits: as in WAITING.
 * STOPPED    There are no looks. The caller reads the loss from the inbox and ends the generation.
 * CLOSED     `close`, from every state: no looks, no demand, no turn at the limiter and no watched worker. The job is
 *            taken away, unless the claim has arrived.
 */

/** Queues a generation, and queues it again after each loss of its worker. */
export type Dispatched = {
  /**
   * Queues the generation. Returns how many generations wait before it, or null if it does not wait any more, for
   * example because a worker has claimed it already. Throws the refusal if the record refuses the generation
   * (`Admission`). Throws `model_unavailable` if Redis does not answer, or if its memory is full. It is then unknown
   * whether the generation is queued.
   */
  begin(): Promise<number | null>
  /** Must be called when the worker's claim of this epoch has arrived. Stops the looks at the generation's record. */
  claimed(claim: { worker: string; promptTokens: number }): void
  /** Must be called when output of this epoch arrives: the next lost generation may then be queued (`resume-limiter.ts`). */
  running(): void
  /**
   * Queues the generation again, in the next epoch and at the front of the queue. The next worker continues after the
   * token ids that the inbox has received, or begins anew if `restart` is true. The enqueue is repeated until the queue
   * answers. Late events of earlier epochs are refused from now on.
   *
   * Resolves without having queued the generation if the epoch ends meanwhile: the caller has left, or the inbox is
   * lost for any reason.
   */
  again(next: Next): Promise<void>
  /** Stops the looks at the generation's record. Takes the job out of the queue, unless the claim has arrived. */
  close(): void
  /** Returns the job with its latest hold. */
  job(): GenerationJob
  /** Replaces the hold by a larger hold, with which the generation continues if its worker is lost. */
  growHold(hold: Hold): void
  /** False before the first enqueue, and after the record has refused the generation as `busy`. */
  mayBeQueued(): boolean
}

type Next = {
  readonly restart: boolean
  readonly requirement: string
  readonly hold: Hold | null
  /** The deaths of engines at which the generation was present (`quarantine.ts`). */
  readonly engineDeaths: number
}

export type Dispatch = (generation: Generation) => Dispatched

type Generation = {
  readonly job: GenerationJob
  /** The estimated tokens of the prompt. */
  readonly promptTokens: number
  readonly admission: Admission
  readonly seating: Seating
  readonly inbox: StreamInbox
  readonly signal: AbortSignal
  /** Returns the time until the generation's deadline, in ms. */
  readonly remainingMs: () => number
}

/** After this long without a claim, the job, the record or the worker that claimed the generation may be lost. */
const FIRST_LOOK_MS = 3_000
/**
 * The longest pause between two looks at the record of one waiting generation while no engine has room. If thousands of
 * generations wait, shorter pauses would cost thousands of looks a second.
 */
const LAST_LOOK_MS = 12_000
/** A worker that claims a generation at its deadline ends it at once. Its event may arrive this much later. */
const LATE_CLAIM_MS = 2_000
const REPEAT = { firstPauseMs: 50, lastPauseMs: 1_000 }

const NO_OUTPUT = { ids: new Uint32Array(0), choices: null }

type Deps = JobDeps & {
  readonly record: Pick<GenerationRecord, 'enqueue'>
  readonly picture: Pick<ClusterPicture, 'find'>
  readonly modelStates: Pick<KnownModelStates, 'startsWithin'>
  readonly demand: Pick<Demand, 'wait'>
  readonly resumeLimiter: ResumeLimiter
  readonly bounds: Bounds
  /**
   * A generation is lost if no worker of its model was ready for this long, and none is predicted to be ready before
   * the generation's deadline.
   */
  readonly noWorkerLimitMs: number
  readonly nowMs: () => number
  readonly watchWorker: (worker: string) => void
  readonly unwatchWorker: (worker: string) => void
}

/**
 * Creates the dispatch of this gateway's generations.
 *
 * A generation is lost when the time without a ready worker of its model reaches `noWorkerLimitMs`, because a worker
 * may never come. This time is not counted while a scaler predicts that a worker will be ready before the generation's
 * deadline: the start of a large model takes longer than the limit.
 *
 * The client of a generation may have asked to wait for its model's start. Until a worker has claimed such a
 * generation,
 * - the time without a ready worker is counted only while no scaler reports the model's state;
 * - the time that the client allows is another limit.
 *
 * The limits and the deadline apply to every wait after the first enqueue:
 * - the wait for the permission to queue a lost generation again (`resume-limiter.ts`)
 * - the wait for the queue's answer
 * - the wait for a claim
 */
export function createDispatch(deps: Deps): Dispatch {
  return (generation) => new DispatchedGeneration(deps, generation)
}

/** This is a class, because a gateway has an object for each open stream. Twenty closures instead would take 1.2 KB. */
class DispatchedGeneration implements Dispatched {
  readonly #deps: Deps
  readonly #generation: Generation
  readonly #ownJob: OwnJob
  #packed: PackedJob | null = null
  #current: GenerationJob
  #tag: number | null = null
  #epoch = 1
  /** The output of the earlier epochs. */
  #before: Pick<Enqueueing, 'ids' | 'choices'> = NO_OUTPUT
  #promptTokens: number | null = null
  #engineDeaths = 0
  #requirements: Requirements
  #watched: string | null = null
  #timer: NodeJS.Timeout | undefined
  #waitsForWorker = false
  #isQueued = false
  #mayBeQueued = false
  #endResume: (() => void) | null = null
  #endWait: (() => void) | null = null
  #servedMs: number
  /** The wait for the model's start; null if there is none, and once a worker has had the generation. */
  #start: StartWait | null

  constructor(deps: Deps, generation: Generation) {
    const { job, admission } = generation
    this.#deps = deps
    this.#generation = generation
    this.#ownJob = new OwnJob(deps, { job, place: admission.place })
    this.#current = job
    this.#requirements = firstRequirements(job, generation.promptTokens)
    this.#servedMs = deps.nowMs()
    this.#start = admission.startWait
  }

  async begin() {
    this.#mayBeQueued = true
    const enqueued = await orUnavailable(this.#enqueueFirst(), NO_NEW_WORK)
    if (enqueued.status === 'busy') {
      this.#mayBeQueued = false
      throw this.#generation.admission.refuse(enqueued)
    }
    if (enqueued.status === 'waiting') {
      this.#tag = enqueued.tag
      if (enqueued.costAhead !== null) this.#generation.admission.queued()
    }
    this.#isQueued = true
    this.#startWait()
    this.#lookAfter()
    return enqueued.status === 'waiting' ? enqueued.ahead : null
  }

  claimed(claim: { worker: string; promptTokens: number }) {
    this.#stopLooking()
    this.#start = null
    this.#ownJob.claimed(claim.worker)
    this.#watch(claim.worker)
    this.#promptTokens ??= claim.promptTokens
    // While a generation runs, its packed job is kept only if the request in it is compressed. An uncompressed request
    // is small, so in the rare case that the worker is lost, the job is quickly packed again.
    if (this.#packed?.requestBytes.length === 0) this.#packed = null
  }

  running() {
    this.#leaveLimiter()
  }

  async again({ restart, requirement, hold, engineDeaths }: Next) {
    const { job, inbox } = this.#generation
    // Nothing of the last epoch stays: no looks, no job, no turn at the limiter and no watched worker.
    this.close()
    this.#start = null
    // The epoch is raised before the received token ids are read. Otherwise a late frame between these two steps would
    // be accepted, and the next worker would generate the same tokens again.
    this.#epoch = inbox.raise({ restart })
    const before = { ids: inbox.ids(), choices: inbox.choices() }
    this.#before = before
    this.#engineDeaths = engineDeaths
    if (hold !== null) this.growHold(hold)
    this.#requirements = nextRequirements(this.#requirements, {
      requirement,
      continues: before.ids.length > 0,
      isSuspected: engineDeaths > 0,
    })
    this.#startWait()
    this.#isQueued = false
    // The timer of the looks starts here, before the wait for the permission of `resume-limiter.ts` to queue the generation. The
    // limits are checked whenever this timer fires. So a generation that waits for the permission also ends at a limit,
    // for example if no worker is ready.
    this.#lookAfter()
    let isOver = false
    const over = inbox.untilOver().then(() => (isOver = true))
    this.#endResume = await this.#deps.resumeLimiter(
      job.model,
      (this.#promptTokens ?? 0) + before.ids.length,
      over,
    )
    if (isOver) return
    const enqueue = async () => await this.#enqueueWithJob()
    // `untilAnswered` rejects only when the epoch is over. The reader of the inbox finds the reason in the inbox.
    await untilAnswered(enqueue, { ...REPEAT, giveUp: () => isOver }).catch(() => undefined)
    // A generation in quarantine may wait for long, and an engine reads one of them at a time anyway.
    if (this.#requirements.features.includes(ALONE)) this.#leaveLimiter()
    this.#isQueued = true
  }

  close() {
    this.#stopLooking()
    this.#ownJob.takeAway()
    this.#leaveLimiter()
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
  async #enqueue(packedJob: PackedJob): Promise<EnqueueAnswer> {
    const { admission, seating, remainingMs } = this.#generation
    return await this.#deps.record.enqueue({
      job: packedJob,
      epoch: this.#epoch,
      requirements: this.#requirements,
      tag: this.#tag,
      place: admission.place,
      bounds: this.#deps.bounds,
      remainingMs: remainingMs(),
      ...this.#before,
      promptTokens: this.#promptTokens,
      engineDeaths: this.#engineDeaths,
      seats: seating.seats,
    })
  }

  /**
   * Sends the enqueue and then its job, without waiting for an answer in between. Both use the same connection, so Redis
   * executes the enqueue first.
   *
   * There is one exception. If the Redis server does not know the enqueue's script yet, the gateway sends the script's
   * text in a second call, so Redis executes the enqueue after it adds the job. The answer for the job then arrives before
   * the answer for the enqueue. A worker may have taken the job before there was a generation to claim, so another job is
   * added. Even without a job, a waiting generation is claimed within a second if an engine has room.
   *
   * If the enqueue's answer is not `waiting`, the job is removed.
   */
  async #enqueueWithJob(): Promise<EnqueueAnswer> {
    const packedJob = await this.#pack()
    let isAnswered = false
    const enqueueing = this.#enqueue(packedJob)
    void this.#ownJob.add(this.#epoch).then(() => (isAnswered = true))
    const enqueued = await enqueueing
    if (enqueued.status !== 'waiting') this.#ownJob.takeAway()
    else if (isAnswered) void this.#ownJob.replace()
    return enqueued
  }

  /** Sends the first enqueue. The generation gets its job at once, or if the enqueue gives it a home, when it needs one. */
  async #enqueueFirst(): Promise<EnqueueAnswer> {
    const { seating } = this.#generation
    const { sought, otherwise } = seating.seats
    if (sought.length === 0 && otherwise === null) return await this.#enqueueWithJob()
    const enqueued = await this.#enqueue(await this.#pack())
    if (enqueued.status !== 'waiting') return enqueued
    if (enqueued.home === null) void this.#ownJob.add(this.#epoch)
    else this.#ownJob.awaitHome(enqueued.home, seating)
    return enqueued
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

  /** Ends the generation's turn at the limiter (`resume-limiter.ts`), so that the next lost generation may be queued. */
  #leaveLimiter(): void {
    this.#endResume?.()
    this.#endResume = null
  }

  /** Counts the generation as demand until `#stopLooking`. */
  #startWait(): void {
    const { job, promptTokens } = this.#generation
    this.#endWait?.()
    const tokens = this.#before.ids.length + (this.#promptTokens ?? promptTokens)
    this.#endWait = this.#deps.demand.wait(job.model, tokens)
  }

  #lookAfter(): void {
    this.#waitsForWorker = true
    this.#servedMs = this.#deps.nowMs()
    this.#lookLater(Math.min(FIRST_LOOK_MS, this.#startLeftMs()))
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
    const startMs = this.#startLeftMs()
    const leftMs = Math.min(hopeMs, remainingMs() + LATE_CLAIM_MS, startMs)
    if (leftMs > 0) return this.#lookLater(Math.min(pauseMs, leftMs))
    this.#stopLooking()
    if (startMs <= 0) {
      this.#start?.end(this.#start.leftMs() > 0 ? 'failed' : 'late')
      return inbox.lose('not-started')
    }
    inbox.lose(hopeMs > 0 ? 'deadline' : 'no-worker')
  }

  /** Returns the rest of the wait for the model's start, which is 0 if no worker will come. */
  #startLeftMs(): number {
    if (this.#start === null) return Infinity
    return isHopeless(this.#start.state()) ? 0 : this.#start.leftMs()
  }

  #hasRoom(): boolean {
    const { picture, modelStates, nowMs } = this.#deps
    const { job, remainingMs } = this.#generation
    const serving = picture.find(job.model)
    const isComing = modelStates.startsWithin(job.model, remainingMs()) || isServable(this.#start?.state())
    if (serving !== null || isComing) this.#servedMs = nowMs()
    return serving !== null && serving.running < serving.slots
  }

  async #look(): Promise<void> {
    const { inbox } = this.#generation
    if (!this.#isQueued) return
    const looked = this.#epoch
    const found = await this.#enqueue(await this.#pack())
    if (!this.#waitsForWorker || looked !== this.#epoch) return
    const room = this.#hasRoom()
    if (found.status === 'waiting' && room) await this.#ownJob.replace()
    if (found.status === 'claimed') {
      this.#start = null
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
