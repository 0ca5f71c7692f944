import type { Blame } from '#libs/contracts/generation-event.ts'
import { NO_ENGINE_DEATHS, type EngineDeaths } from '#libs/generation-record/pack-job.ts'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'

/** One generation, as `Suspects` follows it. */
export type Suspect = {
  /** Notes that this worker has claimed the generation, so its engine gets the generation. */
  claimed(worker: string): void
  /**
   * Notes that the record names this worker, although the worker has sent no event yet. If the generation was present
   * at an earlier engine death, the worker is not noted. Such a generation may still wait in the worker for its trial.
   * Until the trial begins, the generation is not in the engine, so it cannot be the cause of the engine's death.
   */
  claimFound(worker: string): void
  /**
   * Notes that the epoch of the generation is over. `blame` is the worker's report about the generation's part in an
   * engine's death. It is null if the worker has reported nothing.
   */
  epochLost(blame: Blame | null): void
  /** Returns the engine deaths at which the generation was present. The next worker must know them. */
  engineDeaths(): EngineDeaths
  /**
   * True if the generation has killed an engine, and another engine has died while it was present. Such a generation is
   * not run again.
   */
  isKiller(): boolean
  /** True if the generation was present at an engine death, and this epoch's engine has not read it yet. */
  isOnTrial(): boolean
  close(): void
}

export type Suspects = {
  /** `epochTokens` returns how many tokens or vectors the present epoch has given. */
  open(epochTokens: () => number): Suspect
  /** Notes that this worker died, perhaps together with its engine. */
  workerDied(worker: string): void
}

/**
 * A generation that was present at an earlier engine death is on trial in its next engine. Once it has this many tokens
 * from that engine, it no longer counts as present if its worker dies. The worker's `trials.ts` has the same number,
 * and its reason.
 */
const READ_TOKENS = 3
/**
 * Finds the generations that have killed engines. Each engine death at which a generation was present is counted, in
 * any epoch and after any number of tokens. The engine's worker finds the cause: it tries the generations that were
 * present one at a time (`trials.ts`). A generation ends at its second engine death if it is the suspect of that death.
 *
 * A worker that dies reports nothing. Then only these generations count as present:
 * - A generation that was present at no earlier death, if it has no token from this worker's engine.
 * - A generation that was present at an earlier death, if it has fewer than `READ_TOKENS` tokens from this engine. Such
 *   a generation was on trial. It is the suspect, unless several were on trial.
 */
export function createSuspects(): Suspects {
  const opened = new ShortLivedSet<OpenSuspect>()

  return {
    open: (epochTokens) => new OpenSuspect(opened, epochTokens),
    workerDied(worker) {
      const ran = [...opened].filter((entry) => entry.worker === worker)
      // The same death may be noticed again while these generations wait for another worker. It must not count twice.
      for (const entry of ran) entry.worker = null
      const unread = ran.filter((entry) => entry.isUnread())
      const [tried, ...others] = unread.filter((entry) => entry.engineDeaths().count > 0)
      for (const entry of unread) entry.lostWithWorker = 'present'
      if (tried !== undefined && others.length === 0) tried.lostWithWorker = 'suspect'
    },
  }
}

/**
 * A gateway has one object of this class for each open stream. Methods of a class are shared; closures would be made
 * for each object.
 */
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

  isOnTrial() {
    return this.#engineDeaths.count > 0 && this.isUnread()
  }

  /** True if the generation's engine may not have read it yet. */
  isUnread() {
    return this.#epochTokens() < (this.#engineDeaths.count > 0 ? READ_TOKENS : 1)
  }

  close() {
    this.#opened.delete(this.#number)
  }
}
