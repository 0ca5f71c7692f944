import { randomUUIDv7 } from 'node:crypto'
import { pino } from 'pino'
import { Pool } from 'pg'
import { connectionConfig } from '#apps/billing/database/open-pool.ts'
import { createLane, LaneOverloaded } from '#apps/billing/money/lanes/lane.ts'
import { createMoneyLane } from '#apps/billing/money/lanes/money-lane.ts'
import type { HoldAnswer, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { createNaiveReserve } from './naive-reserve.ts'
import { MODEL, type BenchDatabase } from './open-bench-database.ts'

/**
 * The calls of the two designs that are compared, the naive design and billing. Each function makes one call for a
 * random key. It returns false if the call was refused because of the backlog. It throws for any other answer that is
 * not a grant.
 */
export type Designs = {
  naive(keyIds: readonly string[]): Promise<boolean>
  /**
   * Makes a reservation with billing's own code in this process (its lane, which batches calls) and its SQL functions.
   */
  reserve(keyIds: readonly string[]): Promise<boolean>
  /** Makes a reservation and its settlement, with the usage and the ledger entry. */
  cycle(keyIds: readonly string[]): Promise<boolean>
  close(): Promise<void>
}

const TOKENS = 100

/**
 * The number of connections of the naive design. It is smaller than the number of calls in flight, because with one
 * connection for each call the naive design is slower, above all on a hot account.
 */
const NAIVE_CONNECTIONS = 16

export async function createDesigns(database: BenchDatabase): Promise<Designs> {
  const { money, accountOf, priceVersion } = database
  const log = pino({ level: 'silent' })
  const monotonicMs = () => performance.now()
  const lane = createMoneyLane({ money, onBatch: () => undefined, monotonicMs, log })
  const settleLane = createLane({
    run: (settlements: readonly Settlement[]) => money.settle(settlements),
    kindOf: () => 'settle',
    subjectOf: ({ id }) => id,
    maxBatch: 512,
    maxWaiting: 4_096,
    maxWaitMs: 5_000,
    stuckMs: Infinity,
    monotonicMs,
  })
  const naivePool = new Pool({
    ...connectionConfig(database.url),
    max: NAIVE_CONNECTIONS,
    // Calls of the naive design wait here for a connection, however long that takes.
    connectionTimeoutMillis: 0,
  })
  naivePool.on('error', (error) =>
    console.error(`a connection of the naive design was lost: ${error.message}`),
  )
  // Both designs hold the same amount, so that the accounts' credits last equally long.
  const probe = granted(await money.reserve([toReserveCall(database.keys.plain)]).then(([hold]) => hold))
  const naive = createNaiveReserve({ pool: naivePool, accountOf, priceVersion, amountNano: probe.amountNano })

  async function reserve(call: ReserveCall) {
    try {
      const answer = await lane.submit({ kind: 'reserve', call })
      return granted(answer.kind === 'hold' ? answer.hold : undefined)
    } catch (error) {
      if (error instanceof LaneOverloaded) return null
      throw error
    }
  }

  return {
    async naive(keyIds) {
      await naive(toReserveCall(keyIds))
      return true
    },
    async reserve(keyIds) {
      return (await reserve(toReserveCall(keyIds))) !== null
    },
    async cycle(keyIds) {
      const call = toReserveCall(keyIds)
      const hold = await reserve(call)
      if (hold === null) return false
      const { result } = await settleLane.submit({
        id: call.reservationId,
        epoch: 1,
        outcome: 'completed',
        promptTokens: TOKENS,
        cachedTokens: 0,
        completionTokens: TOKENS / 2,
        by: 'bench',
        receipt: hold.receipt,
      })
      if (result !== 'charged') throw new Error(`a settlement was ${result}`)
      return true
    },
    close: () => naivePool.end(),
  }
}

export function toReserveCall(keyIds: readonly string[]): ReserveCall {
  const keyId = keyIds[Math.floor(Math.random() * keyIds.length)]
  if (keyId === undefined) throw new Error('there are no keys')
  return {
    reservationId: randomUUIDv7(),
    keyId,
    model: MODEL,
    inputTokens: TOKENS,
    outputTokens: TOKENS,
    deadlineMs: Date.now() + 600_000,
  }
}

export function granted(hold: HoldAnswer | undefined): Extract<HoldAnswer, { status: 'granted' }> {
  if (hold?.status !== 'granted') throw new Error(`a reservation was ${hold?.status}`)
  return hold
}
