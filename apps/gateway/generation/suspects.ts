import type { Blame } from '#libs/contracts/generation-event.ts'
import { NO_ENGINE_DEATHS, type EngineDeaths } from '#libs/generation-record/pack-job.ts'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'

/** One generation, as `Suspects` follows it. */
export type Suspect = {
  /** An engine of this worker is given it. */
  claimed(worker: string): void
  /** The record names this worker, which has sent nothing yet: one that is on trial may wait there for its turn. */
  claimFound(worker: string): void
  /** Its epoch is over. `blame`: as its worker reports it; null where its worker reports nothing. */
  epochLost(blame: Blame | null): void
  /** The engines that died while they ran it: the next worker must know. */
  engineDeaths(): EngineDeaths
  /** It has killed an engine, and was there when an earlier one died: it is not run again. */
  isKiller(): boolean
  close(): void
}

export type Suspects = {
  /** `epochTokens`: how many tokens, or vectors, its present epoch has given. */
  open(epochTokens: () => number): Suspect
  /** This worker died, perhaps with its engine. */
  workerDied(worker: string): void
}

/** So many tokens of an epoch clear a generation, as in `trials.ts` of the worker. */
const READ_TOKENS = 3
/**
 * Which generations have killed engines. Presence at a death is counted, in whatever epoch and after however many tokens;
 * who was the cause is decided by the engine's worker, which tries those that were present one at a time (`trials.ts`). A
 * generation ends at its second death, if it is the suspect there.
 *
 * A worker that dies reports nothing. Only those that its engine had given nothing yet can have to do with it: they count
 * as present, and one that was on trial is the suspect, unless several were.
 */
export function createSuspects(): Suspects {
  const opened = new ShortLivedSet<OpenSuspect>()

  return {
    open: (epochTokens) => new OpenSuspect(opened, epochTokens),
    workerDied(worker) {
      const ran = [...opened].filter((entry) => entry.worker === worker)
      // The death may be noticed again while they wait for another worker.
      for (const entry of ran) entry.worker = null
      const unread = ran.filter((entry) => entry.isUnread())
      const [tried, ...others] = unread.filter((entry) => entry.engineDeaths().count > 0)
      for (const entry of unread) entry.lostWithWorker = 'present'
      if (tried !== undefined && others.length === 0) tried.lostWithWorker = 'suspect'
    },
  }
}

/** A class, because a gateway has one for each open stream. */
class OpenSuspect implements Suspect {
  worker: string | null = null
  lostWithWorker: Blame = 'none'
  readonly #opened: ShortLivedSet<OpenSuspect>
  readonly #number: number
  readonly #epochTokens: () => number
  #engineDeaths = NO_ENGINE_DEATHS
  #blame: Blame = 'none'

  constructor(opened: ShortLivedSet<OpenSuspect>, epochTokens: () => number) {
    this.#opened = opened
    this.#number = opened.add(this)
    this.#epochTokens = epochTokens
  }

  claimed(worker: string) {
    this.worker = worker
  }

  claimFound(worker: string) {
    if (this.#engineDeaths.count === 0) this.worker = worker
  }

  epochLost(reported: Blame | null) {
    this.#blame = reported ?? this.lostWithWorker
    this.worker = null
    this.lostWithWorker = 'none'
    if (this.#blame === 'none') return
    const { count, mostTokens } = this.#engineDeaths
    this.#engineDeaths = { count: count + 1, mostTokens: Math.max(mostTokens, this.#epochTokens()) }
  }

  engineDeaths() {
    return this.#engineDeaths
  }

  isKiller() {
    return this.#blame === 'suspect' && this.#engineDeaths.count > 1
  }

  /** Its engine may not have read it yet. */
  isUnread() {
    return this.#epochTokens() < (this.#engineDeaths.count > 0 ? READ_TOKENS : 1)
  }

  close() {
    this.#opened.delete(this.#number)
  }
}
