import { sql, type Kysely } from 'kysely'
import type {
  ArchivedReservation,
  ArchivedUsage,
  ArchivePart,
} from '#libs/admin-contract/resources/archives.ts'
import type { Tables } from '../database/tables.ts'
import { readEntries } from './read-entries.ts'

/** The number of rows of one query. */
const PORTION = 1_000

/** The first ledger number and request id of the month (`first…`), and of the month after it (`end…`). */
type Bounds = {
  readonly firstSeq: bigint
  readonly endSeq: bigint
  readonly firstId: string
  readonly endId: string
}

/**
 * Yields the lines of one archive file of a month in portions, in a fixed order. `part` names the file. Each line is a
 * JSON object with its line feed. The rows of an ended month do not change, so a second reading yields the same lines.
 * If a second reading yields other lines, rows were changed. The file of the part `ledger` begins with the oldest entry
 * in the database, even if that entry is of an earlier month.
 */
export async function* readMonthLines(
  db: Kysely<Tables>,
  month: string,
  part: ArchivePart,
): AsyncGenerator<string> {
  const bounds = await readBounds(db, month)
  const portions = {
    ledger: () => readEntries(db, { after: 0n, until: bounds.endSeq }),
    usage: () => readUsage(db, bounds),
    reservations: () => readReservations(db, bounds),
  }[part]()
  for await (const lines of portions) yield lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

async function readBounds(db: Kysely<Tables>, month: string): Promise<Bounds> {
  const { rows } = await sql<Bounds>`
    select first_seq(t) as "firstSeq", first_seq(month_start(t, 1)) as "endSeq", first_id(t) as "firstId",
      first_id(month_start(t, 1)) as "endId"
    from (select ${`${month}-01`}::timestamp at time zone 'UTC' as t) m`.execute(db)
  const [bounds] = rows
  if (bounds === undefined) throw new Error('a month has no bounds')
  return bounds
}

async function* readUsage(db: Kysely<Tables>, { firstId, endId }: Bounds): AsyncGenerator<ArchivedUsage[]> {
  for (let after: string | undefined; ;) {
    const rows = await db
      .selectFrom('usage')
      .selectAll()
      .where('reservation_id', after === undefined ? '>=' : '>', after ?? firstId)
      .where('reservation_id', '<', endId)
      .orderBy('reservation_id')
      .limit(PORTION)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map((row) => ({
      requestId: row.reservation_id,
      accountId: row.account_id,
      keyId: row.key_id,
      model: row.model,
      priceVersion: row.price_version.toString(),
      epoch: row.epoch,
      outcome: row.outcome,
      promptTokens: row.prompt_tokens,
      cachedTokens: row.cached_tokens,
      completionTokens: row.completion_tokens,
      costNano: row.cost,
      chargedNano: row.charged.toString(),
      late: row.late,
      worker: row.settled_by,
      settledAt: row.settled_at.toISOString(),
    }))
    after = last.reservation_id
  }
}

async function* readReservations(
  db: Kysely<Tables>,
  { firstId, endId }: Bounds,
): AsyncGenerator<ArchivedReservation[]> {
  for (let after: string | undefined; ;) {
    const rows = await db
      .selectFrom('reservations')
      .selectAll()
      // The period of a total budget began at -infinity, which a Date cannot represent.
      .select(sql<string | null>`to_json(budget_period) #>> '{}'`.as('period'))
      .where('id', after === undefined ? '>=' : '>', after ?? firstId)
      .where('id', '<', endId)
      .orderBy('id')
      .limit(PORTION)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map((row) => ({
      requestId: row.id,
      state: row.state,
      createdAt: row.created_at.toISOString(),
      closedAt: row.closed_at?.toISOString() ?? null,
      accountId: row.account_id,
      keyId: row.key_id,
      model: row.model,
      priceVersion: row.price_version?.toString() ?? null,
      estimatedInputTokens: row.input_tokens,
      wantedTokens: row.wanted_output,
      exactInputTokens: row.exact_input,
      exactWantedTokens: row.exact_wanted,
      grantedTokens: row.granted_output,
      amountNano: row.amount?.toString() ?? null,
      clamped: row.clamped,
      deadline: row.deadline?.toISOString() ?? null,
      extendedDeadline: row.extended_deadline?.toISOString() ?? null,
      expiresAt: row.expires_at?.toISOString() ?? null,
      budgetPeriod: row.period,
    }))
    after = last.id
  }
}
