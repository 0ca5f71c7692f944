import type { Logger } from '#libs/telemetry/logger.ts'
import type { PoisonBound } from './poison-bound.ts'
import type { RecoveryNotes } from './recovery.ts'
import type { StreamCounters } from './stream-metrics.ts'

/** Returns the functions that count and log recoveries, and the requests that are ended because they kill engines. */
export function createRecoveryNotes(deps: {
  metrics: Pick<StreamCounters, 'poisoned' | 'recoveries'>
  poisonBound: Pick<PoisonBound, 'note'>
  log: Logger
}): RecoveryNotes {
  const { metrics, poisonBound, log } = deps
  return {
    onPoison({ accountId, keyId }, { id, model }) {
      metrics.poisoned.inc()
      log.warn({ requestId: id, model, accountId, keyId }, 'a request that kills engines was ended')
      poisonBound.note(accountId)
    },
    onRecovery(reason, { id, model }) {
      metrics.recoveries.inc({ reason })
      log.info({ requestId: id, model, reason }, 'a generation goes on elsewhere')
    },
  }
}
