import type { RunningGeneration } from './running-generation.ts'

/** Since the start of this process; only runs that the engine worked for count. */
export type Totals = {
  /** Runs that have ended. */
  readonly ended: number
  /** What the engine was given to read, replayed output included. */
  readonly promptTokens: number
  readonly cachedTokens: number
  /** What the engine has written, also for runs that have not ended. */
  readonly outputTokens: number
}

export type RunTotals = {
  /** A run has ended, and is not live any more. */
  noteEnd(run: RunningGeneration, ms: number): void
  totals(): Totals
  /** Mean time from claim to end of the last runs; null before the first one ended. */
  meanMs(): number | null
}

/** Weight of the newest run in the moving mean. */
const MEAN_SHARE = 0.1

/** Counts what one engine does. `live` are its runs that have not ended. */
export function createRunTotals(live: () => Iterable<RunningGeneration>): RunTotals {
  let past: Totals = { ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 }
  let meanMs: number | null = null

  return {
    noteEnd(run, ms) {
      if (!run.hasOutput()) return
      past = { ...withRun(past, run), ended: past.ended + 1 }
      meanMs = meanMs === null ? ms : meanMs + (ms - meanMs) * MEAN_SHARE
    },
    totals() {
      let totals = past
      for (const run of live()) if (run.hasOutput()) totals = withRun(totals, run)
      return totals
    },
    meanMs: () => meanMs,
  }
}

function withRun(totals: Totals, { usage, earlierIds, output }: RunningGeneration): Totals {
  return {
    ended: totals.ended,
    promptTokens: totals.promptTokens + usage.promptTokens + earlierIds.length,
    cachedTokens: totals.cachedTokens + usage.cachedTokens,
    outputTokens: totals.outputTokens + output.tokens,
  }
}
