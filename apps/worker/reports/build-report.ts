import { describeProcess, type WorkerReport } from '#libs/event-bus/reports.ts'
import type { WorkerEngine } from './engine-state.ts'

type ReportedEngine = {
  readonly config: Pick<WorkerEngine['config'], 'model' | 'engine'>
  readonly refuses: WorkerEngine['refuses']
}

/**
 * Returns the function that builds this worker's reports. It may be called while engines are still being loaded.
 * Heartbeats, not reports, contain the measurements of the engines.
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
    engines: engines.map(({ config, refuses }) => ({
      model: config.model,
      address: config.engine,
      problem: problemOf(config),
      refuses: refuses === null ? null : [...refuses],
    })),
  })
}
