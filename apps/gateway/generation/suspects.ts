import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'

/** One generation, as `Suspects` follows it. */
export type Suspect = {
  /** A worker runs it from now on; it had `ids` tokens before. */
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
  type Entry = { worker: string | null; claimedMs: number; firstOutputMs: number | null; deaths: number }
  const entries = new ShortLivedSet<Entry>()

  return {
    open() {
      const entry: Entry = { worker: null, claimedMs: 0, firstOutputMs: null, deaths: 0 }
      const number = entries.add(entry)
      return {
        claimed(worker) {
          entry.worker = worker
          entry.claimedMs = nowMs()
        },
        outputSeen() {
          entry.firstOutputMs ??= nowMs()
        },
        deaths: () => entry.deaths,
        blame() {
          entry.deaths += 1
        },
        close: () => void entries.delete(number),
      }
    },
    workerDied(worker) {
      const now = nowMs()
      const ran = [...entries].filter((entry) => entry.worker === worker)
      // The death may be noticed again while they wait for another worker.
      for (const entry of ran) entry.worker = null
      const suspects = ran.filter(
        ({ firstOutputMs }) => firstOutputMs === null || now - firstOutputMs < SUSPECT_MS,
      )
      const silent = suspects.filter((entry) => entry.firstOutputMs === null)
      const blamed = (silent.length > 0 ? silent : suspects).toSorted((a, b) => b.claimedMs - a.claimedMs)[0]
      if (blamed !== undefined) blamed.deaths += 1
    },
  }
}
