import type { EngineLoad } from '../engine/engine-client.ts'

/** The number of generations that an engine can run at once with its KV cache. */
export type EffectiveSlots = {
  /**
   * Takes the engine's load into account and returns the number of slots, from 1 to `maxNumSeqs`. `load` is null if it
   * is not known. `running` is the number of generations that this worker runs.
   */
  note(load: EngineLoad | null, running: number): number
}

/**
 * The weight of a new sample in the mean size of a generation. Samples come about once a second, so the mean covers
 * about the last minute with work.
 */
const MEAN_SHARE = 1 / 60
/**
 * The mean size of a generation is used once the engine's load has been sampled this many times. The mean of fewer
 * samples could come from a few generations near their beginning, and would then be too small.
 */
const LEAST_SAMPLES = 30

/**
 * An engine runs `maxNumSeqs` generations at once only if they fit its KV cache. Further generations wait inside the
 * engine, where no other worker can take them. So the number of slots, which is at most `maxNumSeqs`, is
 *
 *     running generations + free part of the cache ÷ mean size of a running generation
 *
 * The mean is taken over samples that show generations at all ages, so it includes their growth. Before 30 samples the
 * mean is not known, and the result is `maxNumSeqs`. A load of zeros is not a sample while something runs, because an
 * engine without statistics reports zeros. When the latest load is not a sample, the result is the whole cache ÷ mean
 * size.
 */
export function createEffectiveSlots(maxNumSeqs: number): EffectiveSlots {
  let samples = 0
  let meanRunning = 0
  let meanUsage = 0

  const bounded = (slots: number) => Math.max(1, Math.min(maxNumSeqs, Math.floor(slots)))

  return {
    note(load, running) {
      const usage = load?.kvUsage ?? 0
      // An idle engine may still report the state of its last step.
      const isSample = running > 0 && load !== null && load.running > 0 && usage > 0
      if (isSample) {
        samples += 1
        const share = Math.max(MEAN_SHARE, 1 / samples)
        meanRunning += (load.running - meanRunning) * share
        meanUsage += (usage - meanUsage) * share
      }
      if (samples < LEAST_SAMPLES) return maxNumSeqs
      const perGeneration = meanUsage / meanRunning
      if (!isSample) return bounded(1 / perGeneration)
      return bounded(load.running + Math.max(0, 1 - usage) / perGeneration)
    },
  }
}
