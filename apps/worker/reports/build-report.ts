import { describeProcess, type WorkerReport } from '#libs/event-bus/reports.ts'
import type { EngineConfig } from '../config.ts'
import type { ServedEngine } from '../serve-engine.ts'

type ReportedEngine = {
  readonly config: Pick<EngineConfig, 'model' | 'engine'>
  readonly served: Pick<ServedEngine, 'state' | 'engine'> | null
}

/** Returns the function that makes this worker's reports, also while its engines load. Load is in its `Capacity`. */
export function createBuildReport(deps: {
  self: { readonly id: string; readonly name: string }
  engines: readonly ReportedEngine[]
  pendingSettlements: () => number
  /** What keeps a model from loading. */
  problemOf: (config: ReportedEngine['config']) => string | null
}): () => WorkerReport {
  const { self, engines, pendingSettlements, problemOf } = deps
  const process_ = describeProcess(self)
  return () => ({
    ...process_,
    kind: 'worker',
    pendingSettlements: pendingSettlements(),
    engines: engines.map(({ config, served }) => {
      const { version = null, waiting = null } = served?.engine() ?? {}
      return {
        model: config.model,
        address: config.engine,
        version,
        contextWindow: served?.state().contextWindow ?? null,
        waiting,
        problem: problemOf(config),
      }
    }),
  })
}
