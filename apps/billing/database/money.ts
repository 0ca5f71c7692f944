import type { Pool, QueryResultRow } from 'pg'
import type { ExtendCall, HoldAnswer, ReplaceCall, ReserveCall } from '#libs/billing-client/billing-calls.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { toNanoCredits, type NanoCredits } from '#libs/money/nano-credits.ts'
import type { Receipts } from '../receipts.ts'
import { isConflict } from './database-errors.ts'
import type { ForgottenStream, StreamObservations } from './stream-observations.ts'

export type SettleResult =
  | 'charged'
  | 'late'
  | 'recovered'
  | 'released'
  | 'void'
  | 'replayed'
  | 'different'
  | 'unknown'

export type Settled = {
  readonly result: SettleResult
  readonly chargedNano: NanoCredits
  /** May exceed every amount of credits; what exceeds the charge is written off. */
  readonly costNano: bigint
}

/**
 * The money functions of `sql/` for whole batches: answers come in the order of the calls. Each is one transaction
 * and all are idempotent. They throw what PostgreSQL or its connection throws; deadlocks and serialization
 * failures are tried again.
 */
export type Money = {
  reserve(calls: readonly ReserveCall[]): Promise<HoldAnswer[]>
  replace(calls: readonly ReplaceCall[]): Promise<HoldAnswer[]>
  extend(calls: readonly ExtendCall[]): Promise<HoldAnswer[]>
  release(reservationIds: readonly string[]): Promise<boolean[]>
  settle(settlements: readonly Settlement[]): Promise<Settled[]>
  /** At most `most` a model; `more` says that others wait. */
  expire(most: number): Promise<{ expired: number; more: boolean }>
  /** Resolves with the streams of which it has not what was confirmed: it went back in time. */
  advanceWatermarks(observations: StreamObservations, freezeMs: number): Promise<ForgottenStream[]>
}

type HoldRow = {
  status: HoldAnswer['status']
  amount: bigint
  granted_output: number
  was_clamped: boolean
  input_price: bigint
  cached_input_price: bigint
  output_price: bigint
  available: bigint
  held: bigint
  account_id: string
  price_version: bigint
}

type ReservationRow = HoldRow & {
  key_id: string
  model: string
  input_tokens: number
  wanted_output: number
  deadline: Date
}

const MAX_TRIES = 5

/** `holdGraceMs`: how long after its deadline a hold lasts. */
export function createMoney(options: {
  pool: Pool
  receipts: Receipts
  holdGraceMs: number
  nowMs: () => number
}): Money {
  const { pool, receipts, holdGraceMs, nowMs } = options

  const now = () => toTimestamp(nowMs())

  /** Named, so that each connection plans it once. The row type is what the function of that name returns. */
  async function run<Row extends QueryResultRow>(
    name: string,
    text: string,
    values: unknown[],
  ): Promise<Row[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await pool.query<Row>({ name, text, values })).rows
      } catch (error) {
        if (attempt === MAX_TRIES || !isConflict(error)) throw error
      }
    }
  }

  /** `call`: what the reservation is, besides what was granted. */
  function toHoldAnswer(row: HoldRow, call: ReserveCall): HoldAnswer {
    switch (row.status) {
      case 'granted': {
        const { amount, granted_output: outputTokens, was_clamped: clamped } = row
        const prices = {
          inputPriceNano: row.input_price,
          cachedInputPriceNano: row.cached_input_price,
          outputPriceNano: row.output_price,
        }
        return {
          status: 'granted',
          amountNano: toNanoCredits(amount),
          outputTokens,
          clamped,
          prices,
          receipt: receipts.sign({
            ...call,
            accountId: row.account_id,
            priceVersion: row.price_version,
            prices,
            grantedTokens: outputTokens,
            amountNano: amount,
            clamped,
          }),
        }
      }
      case 'insufficient-credits':
      case 'key-limit':
        return {
          status: row.status,
          availableNano: toNanoCredits(row.available),
          heldNano: toNanoCredits(row.held),
        }
      case 'key-rate':
        return { status: 'key-rate', retryAfterS: secondsToNextMinute(nowMs()) }
      case 'key-invalid':
      case 'model-unknown':
      case 'conflict':
        return { status: row.status }
    }
  }

  /** For calls that name a reservation and not what it is. */
  function toHoldAnswers(
    calls: readonly { readonly reservationId: string }[],
    rows: readonly ReservationRow[],
  ): HoldAnswer[] {
    return rows.map((row, index) =>
      toHoldAnswer(row, {
        reservationId: callAt(calls, index).reservationId,
        keyId: row.key_id,
        model: row.model,
        inputTokens: row.input_tokens,
        outputTokens: row.wanted_output,
        deadlineMs: row.deadline?.getTime(),
      }),
    )
  }

  /** As `settle_v2` takes it. */
  function receiptOf({ id, receipt }: Settlement): string | null {
    const genuine = receipt === undefined ? null : receipts.verify(receipt, id)
    if (genuine === null) return null
    const { deadlineMs, priceVersion, prices, amountNano, ...fields } = genuine
    return JSON.stringify({
      ...fields,
      ...(prices !== null && {
        inputPriceNano: prices.inputPriceNano.toString(),
        cachedInputPriceNano: prices.cachedInputPriceNano.toString(),
        outputPriceNano: prices.outputPriceNano.toString(),
      }),
      priceVersion: priceVersion.toString(),
      amountNano: amountNano.toString(),
      deadline: toTimestamp(deadlineMs),
      expiresAt: toTimestamp(deadlineMs + holdGraceMs),
    })
  }

  return {
    async reserve(calls) {
      const rows = await run<HoldRow>(
        'reserve_v2',
        'select * from reserve_v2($1, $2, $3, $4, $5, $6, $7, $8)',
        [
          calls.map((call) => call.reservationId),
          calls.map((call) => call.keyId),
          calls.map((call) => call.model),
          calls.map((call) => call.inputTokens),
          calls.map((call) => call.outputTokens),
          calls.map((call) => toTimestamp(call.deadlineMs)),
          toInterval(holdGraceMs),
          now(),
        ],
      )
      return rows.map((row, index) => toHoldAnswer(row, callAt(calls, index)))
    },

    async replace(calls) {
      const rows = await run<ReservationRow>('replace_v2', 'select * from replace_v2($1, $2, $3, $4)', [
        calls.map((call) => call.reservationId),
        calls.map((call) => call.inputTokens),
        calls.map((call) => call.outputTokens),
        now(),
      ])
      return toHoldAnswers(calls, rows)
    },

    async extend(calls) {
      const rows = await run<ReservationRow>('extend_v1', 'select * from extend_v1($1, $2, $3, $4, $5)', [
        calls.map((call) => call.reservationId),
        calls.map((call) => call.outputTokens),
        calls.map(({ deadlineMs }) => (deadlineMs === null ? null : toTimestamp(deadlineMs))),
        toInterval(holdGraceMs),
        now(),
      ])
      return toHoldAnswers(calls, rows)
    },

    async release(reservationIds) {
      const released = new Map<string, boolean>()
      let open = [...reservationIds]
      for (let attempt = 1; open.length > 0; attempt += 1) {
        // Each further try means that another replica reserved one of these ids meanwhile, once per id at most.
        if (attempt > MAX_TRIES) throw new Error('a release found its reservation in motion again and again')
        const rows = await run<{ id: string; released: boolean | null }>(
          'release_v2',
          'select * from release_v2($1, $2)',
          [open, now()],
        )
        for (const row of rows) if (row.released !== null) released.set(row.id, row.released)
        open = open.filter((id) => !released.has(id))
      }
      return reservationIds.map((id) => released.get(id) === true)
    },

    async settle(settlements) {
      const rows = await run<{ result: SettleResult; cost: string; charged: bigint }>(
        'settle_v2',
        'select * from settle_v2($1, $2, $3, $4, $5, $6, $7, $8, $9)',
        [
          settlements.map((settlement) => settlement.id),
          settlements.map((settlement) => settlement.epoch),
          settlements.map((settlement) => settlement.outcome),
          settlements.map((settlement) => settlement.promptTokens),
          settlements.map((settlement) => settlement.cachedTokens),
          settlements.map((settlement) => settlement.completionTokens),
          settlements.map((settlement) => settlement.by),
          settlements.map((settlement) => receiptOf(settlement)),
          now(),
        ],
      )
      return rows.map((row) => ({
        result: row.result,
        chargedNano: toNanoCredits(row.charged),
        costNano: BigInt(row.cost),
      }))
    },

    async expire(most) {
      const rows = await run<{ expired: number; more: boolean }>(
        'expire_v2',
        'select expired, more from expire_v2($1, $2)',
        [most, now()],
      )
      return rows[0] ?? { expired: 0, more: false }
    },

    async advanceWatermarks({ runId, observedAtMs, streams }, freezeMs) {
      const rows = await run<{ model: string; replay_from: Date | null }>(
        'advance_watermarks_v2',
        'select * from advance_watermarks_v2($1, $2, $3, $4, $5, $6, $7, $8)',
        [
          streams.map((stream) => stream.model),
          streams.map(({ settledUntilMs }) => (settledUntilMs === null ? null : toTimestamp(settledUntilMs))),
          streams.map((stream) => stream.lastId.ms.toString()),
          streams.map((stream) => stream.lastId.seq.toString()),
          streams.map(({ confirmedMs }) => (confirmedMs === null ? null : toTimestamp(confirmedMs))),
          runId,
          toTimestamp(observedAtMs),
          toInterval(freezeMs),
        ],
      )
      return rows.map((row) => ({ model: row.model, fromMs: row.replay_from?.getTime() ?? null }))
    },
  }
}

function callAt<Call>(calls: readonly Call[], index: number): Call {
  const call = calls[index]
  if (call === undefined) throw new Error('the batch has more answers than calls')
  return call
}

/** A key's minutes are those of the clock. */
const secondsToNextMinute = (nowMs: number) => Math.min(59, 60 - (Math.floor(nowMs / 1_000) % 60))

const toTimestamp = (timeMs: number) => new Date(timeMs).toISOString()

const toInterval = (durationMs: number) => `${durationMs} milliseconds`
