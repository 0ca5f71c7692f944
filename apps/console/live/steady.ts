import type { ModelNow, WorkerNow } from '#libs/live-view/rows.ts'

/** A change of a rate or a mean below this share is noise, and is not sent to every viewer each second. */
const BAND = 0.02

/**
 * Returns `now`, but with the previous value of each rate or mean that has changed by at most 2 %. Counts always have
 * their new values.
 */
export function toSteadyModel(before: ModelNow | undefined, now: ModelNow): ModelNow {
  if (before === undefined) return now
  return {
    ...now,
    askedPerS: steady(before.askedPerS, now.askedPerS),
    endsPerS: steady(before.endsPerS, now.endsPerS),
    failedPerS: steady(before.failedPerS, now.failedPerS),
    meanGenerationMs: steadyOrNull(before.meanGenerationMs, now.meanGenerationMs),
    tokensPerS: {
      prompt: steady(before.tokensPerS.prompt, now.tokensPerS.prompt),
      cached: steady(before.tokensPerS.cached, now.tokensPerS.cached),
      completion: steady(before.tokensPerS.completion, now.tokensPerS.completion),
    },
    refusedPerS: Object.fromEntries(
      Object.entries(now.refusedPerS).map(([code, perS]) => [code, steady(before.refusedPerS[code], perS)]),
    ),
  }
}

/** As `toSteadyModel`, for an engine. */
export function toSteadyWorker(before: WorkerNow | undefined, now: WorkerNow): WorkerNow {
  if (before === undefined) return now
  return {
    ...now,
    outputPerS: steady(before.outputPerS, now.outputPerS),
    meanGenerationMs: steadyOrNull(before.meanGenerationMs, now.meanGenerationMs),
  }
}

function steady(before: number | undefined, now: number): number {
  return before !== undefined && Math.abs(now - before) <= before * BAND ? before : now
}

const steadyOrNull = (before: number | null, now: number | null) =>
  before === null || now === null ? now : steady(before, now)
