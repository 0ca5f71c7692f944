import { describeProcess, type WorkerReport } from '#libs/event-bus/reports.ts'
import type { EngineConfig } from '../config.ts'
import type { ServedEngine } from '../serve-engine.ts'

type ReportedEngine = {
  readonly config: Pick<EngineConfig, 'model' | 'engine'>
  readonly served: Pick<ServedEngine, 'state' | 'engine'> | null
  readonly refuses: readonly string[] | null
}

/**
 * Returns the function that builds this worker's reports. It may be called while engines are still being loaded. The
 * reports do not contain the numbers of slots and running generations; the `Capacity` messages contain these numbers.
 */
export function createBuildReport(deps: {
  self: { readonly id: string; readonly name: string }
  engines: readonly ReportedEngine[]
  pendingSettlements: () => number
  /** Returns the problem that keeps a model from loading. */
  problemOf: (config: ReportedEngine['config']) => string | null
}): () => WorkerReport {
  const { self, engines, pendingSettlements, problemOf } = deps
  const process_ = describeProcess(self)
  return () => ({
    ...process_,
    kind: 'worker',
    pendingSettlements: pendingSettlements(),
    engines: engines.map(({ config, served, refuses }) => {
      const { version = null, waiting = null } = served?.engine() ?? {}
      return {
        model: config.model,
        address: config.engine,
        version,
        contextWindow: served?.state().contextWindow ?? null,
        waiting,
        problem: problemOf(config),
        refuses: refuses === null ? null : [...refuses],
      }
    }),
  })
}
