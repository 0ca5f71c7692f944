import type { Pool } from 'pg'
import type { BillingKey } from '#libs/billing-client/billing-calls.ts'
import { findUsableKeys } from '../../database/keys.ts'
import { createLane, type Lane } from './lane.ts'

/**
 * The lane for look-ups of API keys by their hash: waiting look-ups share one query. Anybody can cause look-ups with
 * made-up keys. Because hundreds of such look-ups share one query, connections stay free for the calls of paying
 * callers.
 */
export function createLookUpLane(deps: {
  pool: Pool
  nowMs: () => number
  monotonicMs: () => number
}): Lane<Buffer, BillingKey | null> {
  const { pool, nowMs, monotonicMs } = deps
  let calls = 0
  return createLane({
    run: async (sha256s) => await findUsableKeys(pool, sha256s, nowMs()),
    kindOf: () => 'look-up',
    // Calls about the same subject run in order of arrival. Look-ups need no order, so each look-up is its own subject.
    // A gateway has at most one look-up of a key under way, but two gateways may look up the same key at the same time.
    subjectOf: () => String((calls += 1)),
    maxBatch: 512,
    maxWaiting: 8_192,
    // A gateway waits 2 s for the answer.
    maxWaitMs: 1_000,
    stuckMs: 1_000,
    monotonicMs,
  })
}
