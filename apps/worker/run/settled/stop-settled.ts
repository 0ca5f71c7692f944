import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RunningGeneration } from '../running-generation.ts'

/**
 * The bus counts as away once `busAwayMs` returns more than this. If the bus is only slow for a moment, stop messages
 * still arrive afterwards.
 */
const AWAY_MS = 3_000

/**
 * Returns a function that must be called once a second. While the bus is away, no gateway can ask this worker to stop a
 * run. So the function then asks the queue Redis which generations are settled or have no record any more, and stops
 * their runs.
 */
export function createStopSettled(deps: {
  busAwayMs: () => number
  live: () => readonly RunningGeneration[]
  record: Pick<GenerationRecord, 'settledOf'>
  log: Logger
}): () => Promise<void> {
  const { busAwayMs, live, record, log } = deps
  let asking = false

  async function stopSettled(model: string, runs: readonly RunningGeneration[]) {
    const settled = await record.settledOf(
      model,
      runs.map(({ job }) => job.id),
    )
    for (const run of runs) {
      if (settled.has(run.job.id)) run.stop('unwanted')
    }
  }

  return async () => {
    if (asking || busAwayMs() <= AWAY_MS) return
    asking = true
    try {
      const byModel = Map.groupBy(live(), ({ job }) => job.model)
      await Promise.all(byModel.entries().map(async ([model, runs]) => await stopSettled(model, runs)))
    } catch (error) {
      log.warn({ err: error }, 'the bus is away, and the queue Redis does not say what is settled')
    } finally {
      asking = false
    }
  }
}
