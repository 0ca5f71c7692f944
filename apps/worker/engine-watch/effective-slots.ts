import type { EngineLoad } from '../engine/engine-client.ts'

/** How many generations an engine can run at once, by what its KV cache has room for. */
export type EffectiveSlots = {
  /**
   * Takes the engine's load into account and returns the number, from 1 to `maxNumSeqs`. `running` is what this worker
   * runs. null: the engine's load is not known.
   */
  note(load: EngineLoad | null, running: number): number
}

/** About one per second: the mean is that of the last minute with work. */
const MEAN_SHARE = 1 / 60
/** Until then a mean would be the size of a few generations, at their beginning. */
const LEAST_SAMPLES = 30

/**
 * The engine runs `maxNumSeqs` generations only as long as they fit its KV cache; more wait in it, where no other worker
 * can take them. So the slots are those that run, and as many more as the free part of the cache has room for at the mean
 * size of a running generation. That size is measured over samples with work, at all ages of the generations, so their
 * growth is part of it.
 *
 * `maxNumSeqs` is the number as long as the size is not known: before 30 samples. Zeros while something runs, as an engine
 * without statistics reports them, are no sample.
 */
export function createEffectiveSlots(maxNumSeqs: number): EffectiveSlots {
  let samples = 0
  let meanRunning = 0
  let meanUsage = 0

  const bounded = (slots: number) => Math.max(1, Math.min(maxNumSeqs, Math.floor(slots)))

  return {
    note(load, running) {
      const usage = load?.kvUsage ?? 0
      // What an idle engine reports may be the state at its last step.
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
