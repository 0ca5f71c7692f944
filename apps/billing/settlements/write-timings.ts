import type { Pool } from 'pg'
import type { Settlement } from '#libs/contracts/settlement.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

export type TimingWriter = {
  /** Writes the timings of settlements that are committed; returns at once. */
  add(settlements: readonly Pick<Settlement, 'id' | 'timing'>[]): void
  /** Resolves when nothing is being written. */
  drain(): Promise<void>
}

/**
 * The most rows that wait while one batch is written. At 300 settlements a second these are the rows of about 30 s.
 * They take 2 MB.
 */
const MAX_WAITING = 10_000

/**
 * Writes how long generations waited and ran. One batch is written at a time, and settlements never wait for it.
 * Timings that cannot be written are logged and lost. A timing is written once; the timing of a repeated settlement is
 * left out.
 *
 * No timing is written for an id whose time is more than 90 days in the past or more than a day in the future: the
 * timing would be in no month that `forget_timings` drops.
 */
export function createTimingWriter(deps: { pool: Pool; nowMs: () => number; log: Logger }): TimingWriter {
  const { pool, nowMs, log } = deps
  let waiting: Row[] = []
  let writing: Promise<void> | null = null

  async function write() {
    while (waiting.length > 0) {
      const rows = waiting
      waiting = []
      await insert(pool, rows, new Date(nowMs())).catch((error: unknown) => {
        log.warn({ err: error, timings: rows.length }, 'timings were not written')
      })
    }
    writing = null
  }

  return {
    add(settlements) {
      const room = Math.max(0, MAX_WAITING - waiting.length)
      waiting.push(...settlements.flatMap(toRow).slice(0, room))
      if (waiting.length > 0) writing ??= write()
    },
    async drain() {
      await writing
    },
  }
}

type Row = ReturnType<typeof toRow>[number]

function toRow({ id, timing }: Pick<Settlement, 'id' | 'timing'>) {
  if (timing === undefined) return []
  return [
    {
      reservation_id: id,
      waited_ms: timing.waitedMs,
      ahead: timing.ahead,
      first_token_ms: timing.firstTokenMs,
      ran_ms: timing.ranMs,
      finish_reason: timing.finishReason,
      error_code: timing.errorCode,
      reasoning_tokens: timing.reasoningTokens,
      streamed: timing.streamed,
    },
  ]
}

async function insert(pool: Pool, rows: readonly Row[], now: Date): Promise<void> {
  await pool.query({
    name: 'write_timings',
    text: `
      insert into request_timings
      select r.*, $2::timestamptz
      from jsonb_to_recordset($1::jsonb) as r (
        reservation_id uuid, waited_ms integer, ahead integer, first_token_ms integer, ran_ms integer,
        finish_reason text, error_code text, reasoning_tokens integer, streamed boolean)
      where r.reservation_id >= (select first_id($2::timestamptz - interval '90 days')) -- once, not for each row
        and r.reservation_id < (select first_id($2::timestamptz + interval '1 day'))
      on conflict do nothing`,
    values: [JSON.stringify(rows), now],
  })
}
