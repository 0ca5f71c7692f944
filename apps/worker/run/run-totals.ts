import type { RunningGeneration } from './running-generation.ts'

/** Totals since the start of this process. Only runs to which the engine gave output count. */
export type Totals = {
  /** Runs that have ended. */
  readonly ended: number
  /** The prompt tokens that the engine read, replayed output included. */
  readonly promptTokens: number
  readonly cachedTokens: number
  /** The tokens that the engine has written, also for runs that have not ended. */
  readonly outputTokens: number
}

export type RunTotals = {
  /** Notes that a run has ended. `live` must not return it any more. */
  noteEnd(run: RunningGeneration, ms: number): void
  totals(): Totals
  /**
   * Returns the mean time from claim to end of the last runs and the mean tokens of their prompts and outputs; null
   * before the first run ended.
   */
  means(): Means | null
}

export type Means = { readonly ms: number; readonly tokens: number }

/** Weight of the newest run in the moving means. */
const MEAN_SHARE = 0.1

/** Counts the tokens of one engine's runs. `live` returns the runs that have not ended. */
export function createRunTotals(live: () => Iterable<RunningGeneration>): RunTotals {
  let past: Totals = { ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 }
  let means: Means | null = null

  return {
    noteEnd(run, ms) {
      if (!run.hasOutput()) return
      past = { ...withRun(past, run), ended: past.ended + 1 }
      const tokens = run.usage.promptTokens + run.output.tokens
      const before = means ?? { ms, tokens }
      means = { ms: toMean(before.ms, ms), tokens: toMean(before.tokens, tokens) }
    },
    totals() {
      let totals = past
      for (const run of live()) if (run.hasOutput()) totals = withRun(totals, run)
      return totals
    },
    means: () => means,
  }
}

const toMean = (mean: number, value: number) => mean + (value - mean) * MEAN_SHARE

function withRun(totals: Totals, { usage, earlierIds, output }: RunningGeneration): Totals {
  return {
    ended: totals.ended,
    promptTokens: totals.promptTokens + usage.promptTokens + earlierIds.length,
    cachedTokens: totals.cachedTokens + usage.cachedTokens,
    outputTokens: totals.outputTokens + output.tokens,
  }
}
