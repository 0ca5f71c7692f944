import { sql, type Kysely, type Selectable } from 'kysely'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { RequestHold, RequestPrices } from '#libs/admin-contract/resources/requests.ts'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../../resources/admin-error.ts'
import { readArchiveEnd } from '../../books/archive-end.ts'
import { implementRead } from '../implement.ts'
import { toAlarm } from './alarms.ts'
import { listRequests, toSettlement, toTiming } from './list-requests.ts'

const readRequest = implementRead(ADMIN.readRequest, async ({ params: { request: id } }, { db }) => {
  const reservation = await db.selectFrom('reservations').selectAll().where('id', '=', id).executeTakeFirst()
  const usage = await db.selectFrom('usage').selectAll().where('reservation_id', '=', id).executeTakeFirst()
  const alarms = await db
    .selectFrom('settlement_alarms')
    .selectAll()
    .where('reservation_id', '=', id)
    .orderBy('seq')
    .execute()
  const timing = await db
    .selectFrom('request_timings')
    .selectAll()
    .where('reservation_id', '=', id)
    .executeTakeFirst()
  if (reservation === undefined && usage === undefined && alarms.length === 0) {
    throw await toMissing(db, id)
  }
  const version = reservation?.price_version ?? usage?.price_version
  return {
    id,
    accountId: reservation?.account_id ?? usage?.account_id ?? null,
    keyId: reservation?.key_id ?? usage?.key_id ?? null,
    model: reservation?.model ?? usage?.model ?? null,
    hold: reservation === undefined ? null : toHold(reservation),
    prices: version == null ? null : await readPrices(db, version),
    settlement: usage === undefined ? null : toSettlement(usage),
    alarms: alarms.map(toAlarm),
    timing: timing === undefined ? null : toTiming(timing),
  }
})

export const REQUEST_OPERATIONS = { readRequest, listRequests }

/**
 * Returns the error for a request that is not in the database. If the id belongs to an archived month, the error says
 * that the request may be in the files of that month.
 */
async function toMissing(db: Kysely<Tables>, id: string): Promise<AdminError> {
  const { rows } = await sql<{ month: string; isArchived: boolean }>`
    select to_char(made_at(${id}) at time zone 'UTC', 'YYYY-MM') as month, ${id} < archived_before() as "isArchived"`.execute(
    db,
  )
  const [made] = rows
  const archived = await readArchiveEnd(db)
  if (made?.isArchived !== true || archived === null) {
    return new AdminError('not_found', `There is no request ${id}.`)
  }
  return new AdminError(
    'archived',
    `${made.month} is archived: if there was a request ${id}, it is in the files of that month: millrace ledger verify ${made.month}.manifest.json --request ${id}`,
  )
}

/** Returns null for a tombstone, which records only that the id was released before it had a hold. */
function toHold(row: Selectable<Tables['reservations']>): RequestHold | null {
  const { amount, input_tokens: estimated, wanted_output: wanted, granted_output: granted } = row
  const { clamped, deadline, expires_at: expiresAt } = row
  if (amount === null || estimated === null || wanted === null || granted === null) return null
  if (clamped === null || deadline === null || expiresAt === null) return null
  return {
    state: row.state,
    amountNano: amount.toString(),
    estimatedInputTokens: estimated,
    exactInputTokens: row.exact_input,
    wantedTokens: row.exact_wanted ?? wanted,
    grantedTokens: granted,
    clamped,
    createdAt: row.created_at.toISOString(),
    deadline: (row.extended_deadline ?? deadline).toISOString(),
    expiresAt: expiresAt.toISOString(),
    closedAt: row.closed_at?.toISOString() ?? null,
  }
}

async function readPrices(db: Kysely<Tables>, version: bigint): Promise<RequestPrices> {
  const row = await db
    .selectFrom('price_versions')
    .selectAll()
    .where('id', '=', version)
    .executeTakeFirstOrThrow()
  return {
    version: version.toString(),
    effectiveFrom: row.effective_from.toISOString(),
    inputPriceNano: row.input_price.toString(),
    cachedInputPriceNano: row.cached_input_price.toString(),
    outputPriceNano: row.output_price.toString(),
  }
}
