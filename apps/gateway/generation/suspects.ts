import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'

/** One generation, as `Suspects` follows it. */
export type Suspect = {
  /** A worker runs it from now on. */
  claimed(worker: string): void
  /** Its first output, in any epoch. */
  outputSeen(): void
  /** How often it was the suspect of an engine's death. */
  deaths(): number
  /** A worker reports that its engine died, probably of this generation. */
  blame(): void
  close(): void
}

export type Suspects = {
  open(): Suspect
  /** This worker died with its engine: one of its generations here is blamed, if any is suspect. */
  workerDied(worker: string): void
}

/** A generation that has given tokens for this long is not what killed its engine. */
const SUSPECT_MS = 2_000

/**
 * Which generation may have killed an engine. Deaths are counted, not epochs: co-passengers of a poisonous request
 * share its epochs, but a request is suspect only without a token, or within 2 s of its first, and each death has one
 * suspect: the one without a token that was claimed last.
 */
export function createSuspects(nowMs: () => number): Suspects {
  const opened = new ShortLivedSet<OpenSuspect>()

  return {
    open: () => new OpenSuspect(opened, nowMs),
    workerDied(worker) {
      const now = nowMs()
      const ran = [...opened].filter((entry) => entry.worker === worker)
      // The death may be noticed again while they wait for another worker.
      for (const entry of ran) entry.worker = null
      const suspects = ran.filter(
        ({ firstOutputMs }) => firstOutputMs === null || now - firstOutputMs < SUSPECT_MS,
      )
      const silent = suspects.filter(({ firstOutputMs }) => firstOutputMs === null)
      const blamed = (silent.length > 0 ? silent : suspects).toSorted((a, b) => b.claimedMs - a.claimedMs)[0]
      blamed?.blame()
    },
  }
}

/** A class, because a gateway has one for each open stream. */
class OpenSuspect implements Suspect {
  worker: string | null = null
  claimedMs = 0
  firstOutputMs: number | null = null
  readonly #opened: ShortLivedSet<OpenSuspect>
  readonly #number: number
  readonly #nowMs: () => number
  #deaths = 0

  constructor(opened: ShortLivedSet<OpenSuspect>, nowMs: () => number) {
    this.#opened = opened
    this.#number = opened.add(this)
    this.#nowMs = nowMs
  }

  claimed(worker: string) {
    this.worker = worker
    this.claimedMs = this.#nowMs()
  }

  outputSeen() {
    this.firstOutputMs ??= this.#nowMs()
  }

  deaths() {
    return this.#deaths
  }

  blame() {
    this.#deaths += 1
  }

  close() {
    this.#opened.delete(this.#number)
  }
}
