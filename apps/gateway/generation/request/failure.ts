import { ApiError } from '#libs/contracts/api-error.ts'
import type { SettlementOutcome } from '#libs/contracts/settlement.ts'
import { Interruption } from './interrupted.ts'

/**
 * The reason why a request failed decides what its caller pays:
 * - `of-caller`: what was used. Its request can have no other end.
 * - `of-service`: free, and the usage is 0. No caller can cause these failures: a gateway stops, the bus is away, or a
 *   model has no worker.
 * - `refused`: free. Nothing was used, unless another choice of the request or another input had output.
 * - `unknown`: free, as long as the account's free usage of the hour is within its bound (`settle.sql`).
 */
export type Failure = 'of-caller' | 'of-service' | 'refused' | 'unknown'

/** The cause of an `ApiError` whose request the caller pays for. */
export class CallersFailure extends Error {
  constructor() {
    super('the caller pays for this request')
    this.name = 'CallersFailure'
  }
}

const OF_SERVICE: ReadonlySet<string> = new Set(['bus-away', 'gateway-stopping', 'no-worker', 'settled'])
const UNKNOWN: ReadonlySet<string> = new Set(['upstream_error', 'model_unavailable'])

export function toFailure(error: unknown): Failure {
  if (!(error instanceof ApiError)) return 'unknown'
  if (error.cause instanceof CallersFailure) return 'of-caller'
  if (error.cause instanceof Interruption && OF_SERVICE.has(error.cause.reason)) return 'of-service'
  return UNKNOWN.has(error.code) ? 'unknown' : 'refused'
}

/** Returns the outcome of a request's settlement, and whether the settlement has the usage. */
export function toOutcome(
  failure: Failure | null,
  { isComplete, hasOutput }: { isComplete: boolean; hasOutput: boolean },
): { outcome: SettlementOutcome; isUsed: boolean } {
  switch (failure) {
    case null:
      return { outcome: isComplete ? 'completed' : 'cancelled', isUsed: true }
    case 'of-caller':
      return { outcome: 'cancelled', isUsed: true }
    case 'of-service':
      return { outcome: 'fault', isUsed: false }
    case 'refused':
      return { outcome: 'fault', isUsed: hasOutput }
    case 'unknown':
      return { outcome: 'fault', isUsed: true }
  }
}
