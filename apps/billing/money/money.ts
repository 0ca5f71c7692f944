import type { Pool, QueryResultRow } from 'pg'
import type { HoldAnswer, ReserveCall, ResizeCall } from '#libs/billing-client/billing-calls.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { toNanoCredits, type NanoCredits } from '#libs/money/nano-credits.ts'
import { bigintToText, type Receipts } from './receipts.ts'
import { isConflict, isDuplicate, isReadOnly } from '../database/database-errors.ts'
import { toInterval, toTimestamp } from '../database/database-time.ts'
import { toObservations, toRecorded, type RecordedRow } from '../database/observed-stream.ts'
import type { ClockJump, ObservedStream, RecordedStream } from '../database/observed-stream.ts'

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
  /** The cost. It may exceed every amount of credits; the part above the charge is written off. */
  readonly costNano: bigint
}

/**
 * The money functions of `sql/functions/`, each for a whole batch of calls. The answers come in the order of the calls.
 * A batch is one transaction, and may be repeated without a further effect. A batch of `reserve` or `resize` has one call
 * for each reservation. Throws the errors of PostgreSQL and of its connection. After a deadlock or a serialization failure
 * the batch is tried again; it is tried at most 5 times. If the session may not write, the batch is tried once more.
 */
export type Money = {
  reserve(calls: readonly ReserveCall[]): Promise<HoldAnswer[]>
  resize(calls: readonly ResizeCall[]): Promise<HoldAnswer[]>
  release(reservationIds: readonly string[]): Promise<boolean[]>
  settle(settlements: readonly Settlement[]): Promise<Settled[]>
  /** Expires at most `most` holds of each model. `more`: other holds may be overdue. */
  expire(most: number): Promise<{ expired: number; more: boolean }>
  /**
   * Returns the models that have an overdue hold: a hold that is still open although its end is more than 30 s before
   * `untilMs`, the present time by the clock of the queue Redis. Such a hold expires once the watermark of its model is
   * also more than 30 s past the hold's end.
   */
  overdueModels(untilMs: number): Promise<string[]>
  /**
   * Writes the observations of the settlement streams to the database, but only the rows that change. Returns, for each
   * stream, what the database has recorded about it.
   */
  noteObservations(streams: readonly ObservedStream[], freezeMs: number): Promise<RecordedStream[]>
  /** After the clocks of queue Redis servers have jumped, prevents holds from expiring too early. */
  freezeWatermarks(jumps: readonly ClockJump[]): Promise<void>
}

/** The SQL type `hold_answer`. The fields after `status` are there as the status needs them. */
type HoldRow = {
  ord: number
  status: HoldAnswer['status']
  amount: bigint
  granted_output: number
  was_clamped: boolean
  available: bigint
  held: bigint
  input_price: bigint
  cached_input_price: bigint
  output_price: bigint
  account_id: string
  price_version: bigint
  key_id: string
  model: string
  input_tokens: number
  wanted_output: number
  deadline: Date
}

type SettledRow = { result: SettleResult; cost: string; charged: bigint }

const MAX_TRIES = 5

/**
 * `holdGraceMs`: the time for which a hold lasts after its deadline. `freeTokensPerHour`: how many tokens of an account's
 * failed generations are free in a clock hour.
 */
export function createMoney(options: {
  pool: Pool
  receipts: Receipts
  holdGraceMs: number
  freeTokensPerHour: number
  nowMs: () => number
  /** Called after each try of a function, with its duration, and with its error if it failed. */
  onCall?: (name: string, durationMs: number, error?: unknown) => void
}): Money {
  const { pool, receipts, holdGraceMs, freeTokensPerHour, nowMs, onCall } = options

  const now = () => toTimestamp(nowMs())

  /**
   * Calls a function as a prepared statement, so that each connection plans it once. `Row` is the row type of the
   * function.
   */
  async function call<Row extends QueryResultRow>(
    name: string,
    parameters: Readonly<Record<string, unknown>>,
  ): Promise<Row[]> {
    const named = Object.keys(parameters).map((parameter, index) => `${parameter} => $${index + 1}`)
    const text = `select * from ${name}(${named.join(', ')})`
    const values = Object.values(parameters)
    for (let attempt = 1; ; attempt += 1) {
      const startedMs = performance.now()
      let failure: unknown
      try {
        return (await pool.query<Row>({ name, text, values })).rows
      } catch (error) {
        failure = error
        // If the session could not write, `endIdle` has ended the pool's idle connections, so the next try gets a new
        // connection.
        const mayRepeat = isConflict(error) ? attempt < MAX_TRIES : isReadOnly(error) && attempt === 1
        if (!mayRepeat) throw error
      } finally {
        onCall?.(name, performance.now() - startedMs, failure)
      }
    }
  }

  /** The SQL functions answer in any order. */
  function toHoldAnswers(
    calls: readonly { readonly reservationId: string }[],
    rows: readonly HoldRow[],
  ): HoldAnswer[] {
    const answers = new Map(rows.map((row) => [row.ord, row]))
    return calls.map(({ reservationId }, index) => {
      const row = answers.get(index + 1)
      if (row === undefined) throw new Error('the batch has fewer answers than calls')
      return toHoldAnswer(row, reservationId)
    })
  }

  function toHoldAnswer(row: HoldRow, reservationId: string): HoldAnswer {
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
            reservationId,
            keyId: row.key_id,
            model: row.model,
            inputTokens: row.input_tokens,
            outputTokens: row.wanted_output,
            deadlineMs: row.deadline.getTime(),
            accountId: row.account_id,
            priceVersion: row.price_version,
            ...prices,
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

  /**
   * Returns the settlement's receipt as the JSON object that `sql/functions/settle.sql` takes. Returns null if the
   * settlement has no receipt, or if its receipt is not genuine.
   */
  function receiptOf(settlement: Settlement): string | null {
    const proof = receipts.verify(settlement)
    if (proof === null) return null
    const { deadlineMs, ...fields } = proof.receipt
    const deadline = toTimestamp(deadlineMs)
    const expiresAt = toTimestamp(deadlineMs + holdGraceMs)
    return JSON.stringify({ ...fields, deadline, expiresAt }, bigintToText)
  }

  return {
    async reserve(calls) {
      const parameters = {
        ids: calls.map(({ reservationId }) => reservationId),
        key_ids: calls.map(({ keyId }) => keyId),
        models: calls.map(({ model }) => model),
        inputs: calls.map(({ inputTokens }) => inputTokens),
        outputs: calls.map(({ outputTokens }) => outputTokens),
        deadlines: calls.map(({ deadlineMs }) => toTimestamp(deadlineMs)),
        grace: toInterval(holdGraceMs),
        at: now(),
        expecteds: calls.map(({ rolling }) => rolling?.expectedTokens ?? null),
        minimums: calls.map(({ rolling }) => rolling?.leastTokens ?? null),
        choices: toChoices(calls),
      }
      const ask = async (known: boolean) =>
        await call<HoldRow>('reserve', { ...parameters, known }).catch(noneOfDuplicate)
      let rows = await ask(false)
      // If another replica writes one of the ids at this moment, the next try finds it.
      for (let attempt = 1; rows.length < calls.length && attempt < MAX_TRIES; attempt += 1)
        rows = await ask(true)
      return toHoldAnswers(calls, rows)
    },

    async resize(calls) {
      const rows = await call<HoldRow>('resize', {
        ids: calls.map(({ reservationId }) => reservationId),
        inputs: calls.map(({ inputTokens }) => inputTokens ?? null),
        outputs: calls.map(({ outputTokens }) => outputTokens),
        deadlines: calls.map(({ deadlineMs }) => (deadlineMs === undefined ? null : toTimestamp(deadlineMs))),
        choices: toChoices(calls),
        grace: toInterval(holdGraceMs),
        at: now(),
      })
      return toHoldAnswers(calls, rows)
    },

    async release(reservationIds) {
      const released = new Map<string, boolean>()
      let open = [...reservationIds]
      for (let attempt = 1; open.length > 0; attempt += 1) {
        // Each further try means that another replica has reserved one of these ids meanwhile, which happens at most
        // once per id.
        if (attempt > MAX_TRIES) throw new Error(`a release was interrupted by reserves ${MAX_TRIES} times`)
        const rows = await call<{ id: string; released: boolean | null }>('release', { ids: open, at: now() })
        for (const row of rows) if (row.released !== null) released.set(row.id, row.released)
        open = open.filter((id) => !released.has(id))
      }
      return reservationIds.map((id) => released.get(id) === true)
    },

    async settle(settlements) {
      const parameters = {
        ids: settlements.map(({ id }) => id),
        epochs: settlements.map(({ epoch }) => epoch),
        outcomes: settlements.map(({ outcome }) => outcome),
        prompts: settlements.map(({ promptTokens }) => promptTokens),
        cacheds: settlements.map(({ cachedTokens }) => cachedTokens),
        completions: settlements.map(({ completionTokens }) => completionTokens),
        bys: settlements.map(({ by }) => by),
        at: now(),
        free_limit: freeTokensPerHour,
      }
      const settled = await call<SettledRow>('settle', { ...parameters, receipts: null })
      if (settled.length === settlements.length) return settled.map(toSettled)
      // An entry needs its receipt. Few do, and to check a receipt costs as much as to settle.
      const receipts = settlements.map(receiptOf)
      return (await call<SettledRow>('settle', { ...parameters, receipts })).map(toSettled)
    },

    async expire(most) {
      const [row] = await call<{ expired: number; more: boolean }>('expire', { most, at: now() })
      return { expired: row?.expired ?? 0, more: row?.more ?? false }
    },

    async overdueModels(untilMs) {
      const rows = await call<{ overdue_models: string }>('overdue_models', { until: toTimestamp(untilMs) })
      return rows.map((row) => row.overdue_models)
    },

    async noteObservations(streams, freezeMs) {
      const rows = await call<RecordedRow>('note_observations', toObservations(streams, freezeMs))
      return rows.map(toRecorded)
    },

    async freezeWatermarks(jumps) {
      await call('freeze_watermarks', {
        models: jumps.map(({ model }) => model),
        observed: jumps.map(({ timeMs }) => toTimestamp(timeMs)),
        jumps: jumps.map(({ byMs }) => toInterval(byMs)),
      })
    },
  }
}

const toChoices = (calls: readonly { readonly choices?: number }[]) => calls.map(({ choices = 1 }) => choices)

const toSettled = (row: SettledRow): Settled => ({
  result: row.result,
  chargedNano: toNanoCredits(row.charged),
  costNano: BigInt(row.cost),
})

/** Handles an error in `catch`: returns no rows if a row with the same id exists, and throws every other error. */
function noneOfDuplicate(error: unknown): [] {
  if (isDuplicate(error)) return []
  throw error
}

/** The minutes of a key's rate limit are whole minutes of the clock. */
const secondsToNextMinute = (nowMs: number) => 60 - (Math.floor(nowMs / 1_000) % 60)
