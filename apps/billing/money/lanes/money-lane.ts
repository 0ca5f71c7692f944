import type { HoldAnswer, ReserveCall, ResizeCall } from '#libs/billing-client/billing-calls.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Money } from '../money.ts'
import { createLane, type Lane } from './lane.ts'

export type MoneyRequest =
  | { readonly kind: 'reserve'; readonly call: ReserveCall }
  | { readonly kind: 'resize'; readonly call: ResizeCall }
  | { readonly kind: 'release'; readonly reservationId: string }

export type MoneyAnswer =
  | { readonly kind: 'hold'; readonly hold: HoldAnswer }
  | { readonly kind: 'release'; readonly released: boolean }

const MAX_BATCH = 512

/**
 * Two batches may be in flight: PostgreSQL works longer on a batch than this process does, so a second batch uses a
 * second core. The second batch needs at least `MIN_CALLS` calls, because the fixed cost of a batch equals the cost of
 * about ten calls.
 */
const MAX_BATCHES = 2
const MIN_CALLS = 16

/** The largest number of calls that wait, whatever their expected wait. */
const MAX_WAITING = 4_096

/**
 * A call is refused if its expected wait is longer than this. A gateway whose call is refused at once can answer its
 * client with a retry-after; a longer wait would only lengthen the backlog.
 */
const MAX_WAIT_MS = 50

/**
 * Once the oldest call has waited for this time, the batch in flight counts as stuck. A batch takes some milliseconds,
 * and about 100 ms on a cold connection or a busy machine.
 */
const STUCK_MS = 500

/**
 * The one lane for the money calls of gateways. The calls `reserve`, `resize` and `release` for one reservation
 * run in order of arrival, each in a batch of its own. Calls of one kind share a transaction. Two `reserve` calls for one API key never
 * run in parallel. The calls of the other kinds do not name the API key, so two batches may have calls for one account.
 * One of the batches then waits in the database for the lock of that account. It may wait in the same way for a batch
 * of another replica.
 */
export function createMoneyLane(deps: {
  money: Money
  onBatch: (size: number) => void
  monotonicMs: () => number
  log: Logger
}): Lane<MoneyRequest, MoneyAnswer> {
  const { money, onBatch, monotonicMs, log } = deps
  return createLane({
    async run(requests) {
      try {
        return await runBatch(money, requests)
      } catch (error) {
        log.warn({ err: error, calls: requests.length }, 'a batch of money calls failed')
        throw error
      }
    },
    kindOf: ({ kind }) => kind,
    subjectOf: reservationOf,
    parallel: { lockOf: keyOf, maxBatches: MAX_BATCHES, minCalls: MIN_CALLS },
    maxBatch: MAX_BATCH,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    stuckMs: STUCK_MS,
    monotonicMs,
    onBatch,
  })
}

function reservationOf(request: MoneyRequest): string {
  return request.kind === 'release' ? request.reservationId : request.call.reservationId
}

function keyOf(request: MoneyRequest): string | null {
  return request.kind === 'reserve' ? request.call.keyId : null
}

/** Only one of the three lists has calls, because a batch has calls of one kind. */
async function runBatch(money: Money, requests: readonly MoneyRequest[]): Promise<MoneyAnswer[]> {
  const reserves = requests.filter((request) => request.kind === 'reserve')
  if (reserves.length > 0) return toHolds(await money.reserve(reserves.map(({ call }) => call)))
  const resizes = requests.filter((request) => request.kind === 'resize')
  if (resizes.length > 0) return toHolds(await money.resize(resizes.map(({ call }) => call)))
  const releases = requests.filter((request) => request.kind === 'release')
  const released = await money.release(releases.map(({ reservationId }) => reservationId))
  return released.map((released) => ({ kind: 'release', released }))
}

function toHolds(holds: readonly HoldAnswer[]): MoneyAnswer[] {
  return holds.map((hold) => ({ kind: 'hold', hold }))
}
