import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { Bounds, GenerationRecord, Lift } from '#libs/generation-record/generation-record.ts'
import type { Needs } from '#libs/generation-record/needs.ts'
import { packJob, repackHold, type PackedJob } from '#libs/generation-record/pack-job.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import type { ClusterPicture } from '../cluster-picture/cluster-picture.ts'
import type { Demand } from '../demand/demand.ts'
import type { KnownModelStates } from '../demand/model-states.ts'
import type { Admission } from './admit.ts'
import { NO_NEW_WORK, orUnavailable } from './or-unavailable.ts'
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
   * the queue answers or the generation's time is over. Late events of the epoch before are refused from now on.
   */
  again(next: { restart: boolean; need: string; hold: Hold | null }): Promise<void>
  /** Stops looking after it. */
  close(): void
  /** With its latest hold. */
  job(): GenerationJob
  /** False as long as no lift was tried, or it was refused. */
  mayBeQueued(): boolean
}

export type Dispatch = (generation: {
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
}) => Dispatched

/** What no worker has claimed for this long may have lost its ticket, its record, or the worker that claimed it. */
const FIRST_LOOK_MS = 3_000
/** While no engine has room, a longer pause: thousands that wait would cost thousands of looks a second. */
const LAST_LOOK_MS = 12_000
const REPEAT = { firstPauseMs: 50, lastPauseMs: 1_000 }

/**
 * A record says who may run a generation, a ticket only that something waits: so every step is a lift of the record,
 * which may be repeated, then a ticket. As long as no worker has been heard, it is lifted again after 3 s, which finds
 * out what became of it: a lost record is created anew, a lost ticket replaced where an engine has room, and the worker
 * that claimed it is watched and asked.
 *
 * While no worker is ready it waits for `noWorkerLimitMs`, since one may never come. Where a scaler predicts that a
 * worker is ready before the deadline, the limit does not run: the start of a large model takes longer than it.
 */
export function createDispatch(deps: {
  record: Pick<GenerationRecord, 'lift'>
  tickets: Pick<TicketQueue, 'add'>
  picture: Pick<ClusterPicture, 'find'>
  modelStates: Pick<KnownModelStates, 'startsWithin'>
  demand: Pick<Demand, 'wait'>
  pace: Pace
  bounds: Bounds
  /** A generation is lost when for this long no ready worker served its model and none was about to. */
  noWorkerLimitMs: number
  nowMs: () => number
  watchWorker: (worker: string) => void
  unwatchWorker: (worker: string) => void
  log: Logger
}): Dispatch {
  const { record, tickets, picture, modelStates, demand, pace, bounds, noWorkerLimitMs, nowMs, log } = deps

  return (generation) => {
    const { job, accountId, cost, admission, inbox, signal, claimFound, remainingMs } = generation
    const { model } = job
    let packed: PackedJob | null = null
    let current = job
    let tag: number | null = null
    let epoch = 1
    let ids: Uint32Array = new Uint32Array(0)
    let promptTokens: number | null = null
    let needs: Needs = { features: [job.request.kind], window: 0 }
    let watched: string | null = null
    let timer: NodeJS.Timeout | undefined
    let waitsForWorker = false
    let mayBeQueued = false
    let leavePace = () => {}
    let endWait = () => {}
    let servedMs = nowMs()

    async function pack(): Promise<PackedJob> {
      packed ??= await packJob(current)
      return packed
    }

    const lift = async () => await liftPacked(await pack())

    /** The command is sent before this returns. */
    async function liftPacked(packedJob: PackedJob): Promise<Lift> {
      const place = { accountId, cost, mostAhead: admission.mostAhead }
      return await record.lift({
        job: packedJob,
        epoch,
        needs,
        tag,
        place,
        bounds,
        remainingMs: remainingMs(),
        ids,
        promptTokens,
      })
    }

    /** What waits without a ticket is claimed within a second, and the first look adds another. */
    async function addTicket(): Promise<void> {
      await tickets
        .add(model)
        .catch((error: unknown) => log.warn({ err: error, requestId: job.id }, 'a ticket was not added'))
    }

    /**
     * The lift and its ticket are sent without waiting for each other: they share a connection, so Redis executes the lift
     * first. A server that has to be sent the script's text executes it last: then the ticket is answered first, and
     * another is added. A ticket whose lift is refused costs one empty claim.
     */
    async function liftWithTicket(): Promise<Lift> {
      const packedJob = await pack()
      let isAnswered = false
      const lifting = liftPacked(packedJob)
      void addTicket().then(() => (isAnswered = true))
      const lifted = await lifting
      if (isAnswered) void addTicket()
      return lifted
    }

    function watch(worker: string): void {
      if (watched === worker) return
      unwatch()
      watched = worker
      deps.watchWorker(worker)
    }

    function unwatch(): void {
      if (watched !== null) deps.unwatchWorker(watched)
      watched = null
    }

    /** From here on it counts as demand. */
    function startWait(): void {
      endWait()
      endWait = demand.wait(model, (promptTokens ?? generation.promptTokens) + ids.length)
    }

    function lookAfter(): void {
      clearTimeout(timer)
      waitsForWorker = true
      servedMs = nowMs()
      let pauseMs = FIRST_LOOK_MS
      const later = () => {
        timer = setTimeout(() => {
          look()
            .catch((error: unknown) =>
              log.warn({ err: error, requestId: job.id }, 'a look at the record failed'),
            )
            .finally(() => {
              if (!waitsForWorker) return
              pauseMs = hasRoom() ? FIRST_LOOK_MS : Math.min(LAST_LOOK_MS, pauseMs * 2)
              later()
            })
        }, pauseMs)
      }
      later()
    }

    function hasRoom(): boolean {
      const serving = picture.find(model)
      if (serving !== null || modelStates.startsWithin(model, remainingMs())) servedMs = nowMs()
      return serving !== null && serving.running < serving.slots
    }

    async function look(): Promise<void> {
      const looked = epoch
      const found = await lift()
      if (!waitsForWorker || looked !== epoch) return
      const room = hasRoom()
      if (found.status === 'waiting' && room) await addTicket()
      if (found.status === 'claimed') {
        claimFound(found.worker)
        watch(found.worker)
        inbox.expect(found)
      }
      if (found.status === 'settled') inbox.lose('settled')
      else if (nowMs() - servedMs > noWorkerLimitMs) inbox.lose('no-worker')
    }

    function stopLooking(): void {
      waitsForWorker = false
      clearTimeout(timer)
      endWait()
    }

    return {
      async begin() {
        mayBeQueued = true
        const lifted = await orUnavailable(liftWithTicket(), NO_NEW_WORK)
        if (lifted.status === 'busy') {
          mayBeQueued = false
          throw admission.refuse(lifted)
        }
        if (lifted.status === 'waiting') tag = lifted.tag
        startWait()
        lookAfter()
        return lifted.status === 'waiting' ? lifted.ahead : null
      },
      claimed(claim) {
        stopLooking()
        watch(claim.worker)
        promptTokens ??= claim.promptTokens
        // While it runs, only a compressed request is worth its memory: a loss seldom comes, and packs a small one again.
        if (packed?.requestBytes.length === 0) packed = null
      },
      running() {
        leavePace()
      },
      async again({ restart, need, hold }) {
        stopLooking()
        leavePace()
        unwatch()
        // The fence first, then the ids: a late frame in between would be repeated by the next worker.
        epoch = inbox.raise({ restart })
        ids = inbox.ids()
        if (hold !== null) {
          current = { ...current, hold }
          if (packed !== null) packed = repackHold(packed, hold)
        }
        needs = nextNeeds(needs, { need, continues: ids.length > 0 })
        startWait()
        const room = await pace(model, (promptTokens ?? 0) + ids.length)
        leavePace = room
        if (signal.aborted) return
        const giveUp = () => remainingMs() <= 0 || signal.aborted
        await orUnavailable(untilAnswered(liftWithTicket, { ...REPEAT, giveUp }), NO_NEW_WORK)
        if (!signal.aborted) lookAfter()
      },
      close() {
        stopLooking()
        leavePace()
        unwatch()
      },
      job: () => current,
      mayBeQueued: () => mayBeQueued,
    }
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
