import type { RunningGeneration } from '../running-generation.ts'

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

type CountedRun = Pick<RunningGeneration, 'usage' | 'earlierTokens' | 'output' | 'hasOutput'> & {
  readonly choices: { readonly length: number }
}

export type RunTotals = {
  /** Notes that a run has ended. `live` must not return it any more. */
  noteEnd(run: CountedRun, ms: number): void
  totals(): Totals
  /** Mean time from claim to end of the last runs; null before the first run ended. */
  meanMs(): number | null
  /** The tokens of prompts and outputs that one slot takes in a second; null before the first run ended. */
  slotTokensPerS(): number | null
}

/** Weight of the newest run in the moving mean time. */
const MEAN_SHARE = 0.1
/**
 * Weight of the newest run in the means from which `slotTokensPerS` is computed. It is smaller than `MEAN_SHARE` for
 * two reasons. Runs of different accounts differ much in their tokens per second. And gateways compute from
 * `slotTokensPerS` how many tokens may wait ahead of a new request, so a single run should hardly change it.
 */
const RATE_SHARE = 0.01

/** Counts the tokens of one engine's runs. `live` returns the runs that have not ended. */
export function createRunTotals(live: () => Iterable<RunningGeneration>): RunTotals {
  let past: Totals = { ended: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0 }
  let meanMs: number | null = null
  const rate = { runs: 0, ms: 0, tokens: 0 }

  return {
    noteEnd(run, ms) {
      if (!run.hasOutput()) return
      past = { ...withRun(past, run), ended: past.ended + 1 }
      meanMs = meanMs === null ? ms : meanMs + (ms - meanMs) * MEAN_SHARE
      rate.runs += 1
      const share = Math.max(RATE_SHARE, 1 / rate.runs)
      // Each choice has a slot of its own.
      rate.ms += (ms * run.choices.length - rate.ms) * share
      rate.tokens += (run.usage.promptTokens + run.output.tokens - rate.tokens) * share
    },
    totals() {
      let totals = past
      for (const run of live()) if (run.hasOutput()) totals = withRun(totals, run)
      return totals
    },
    meanMs: () => meanMs,
    slotTokensPerS: () => (rate.ms === 0 ? null : (1_000 * rate.tokens) / rate.ms),
  }
}

function withRun(totals: Totals, { usage, earlierTokens, output }: CountedRun): Totals {
  return {
    ended: totals.ended,
    promptTokens: totals.promptTokens + usage.promptTokens + earlierTokens,
    cachedTokens: totals.cachedTokens + usage.cachedTokens,
    outputTokens: totals.outputTokens + output.tokens,
  }
}
