import type { Kysely, Selectable } from 'kysely'
import { z } from 'zod'
import type { Tables } from '../../database/tables.ts'
import { AdminError } from '../admin-error.ts'
import { Id, Nano, Time } from '../fields.ts'
import { NOTHING, defineRead } from '../operation.ts'
import { Alarm, toAlarm } from './alarms.ts'

/** As callers know it: the request's id, or the id of its answer, which has it behind a prefix. */
const RequestId = z
  .string()
  .max(100)
  .transform((text) => text.replace(/^(?:chatcmpl-|cmpl-|resp_)/, ''))
  .pipe(Id)

const Hold = z.object({
  state: z.enum(['held', 'settled', 'released', 'expired']),
  amountNano: Nano,
  estimatedInputTokens: z.int(),
  exactInputTokens: z.int().nullable(),
  wantedTokens: z.int(),
  grantedTokens: z.int(),
  clamped: z.boolean().meta({ description: 'The money, and nothing else, made the grant smaller.' }),
  createdAt: Time,
  deadline: Time,
  expiresAt: Time,
  closedAt: Time.nullable(),
})

const Prices = z.object({
  version: z.string(),
  effectiveFrom: Time,
  inputPriceNano: Nano,
  cachedInputPriceNano: Nano,
  outputPriceNano: Nano,
})

const Settlement = z.object({
  outcome: z.enum(['completed', 'cancelled', 'fault', 'never-ran']),
  promptTokens: z.int(),
  cachedTokens: z.int(),
  completionTokens: z.int(),
  costNano: Nano,
  chargedNano: Nano,
  writtenOffNano: Nano,
  late: z.boolean().meta({ description: 'Its hold had expired.' }),
  worker: z.string().meta({ description: 'Boot id of the process that settled it.' }),
  epoch: z.int().meta({ description: 'Which attempt it was.' }),
  settledAt: Time,
})

const RequestRecord = z
  .object({
    id: Id,
    accountId: Id.nullable(),
    keyId: Id.nullable(),
    model: z.string().nullable(),
    hold: Hold.nullable(),
    prices: Prices.nullable(),
    settlement: Settlement.nullable(),
    alarms: z.array(Alarm),
  })
  .meta({ id: 'Request' })

const readRequest = defineRead({
  id: 'readRequest',
  method: 'GET',
  url: '/requests/{request}',
  summary: 'Shows all that billing knows of one request.',
  description: 'By its x-request-id, or by the id of its answer.',
  path: z.strictObject({ request: RequestId }),
  query: NOTHING,
  body: NOTHING,
  answer: RequestRecord,
  errors: ['not_found'],
  async run({ path: { request: id } }, { db }) {
    const reservation = await db
      .selectFrom('reservations')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirst()
    const usage = await db.selectFrom('usage').selectAll().where('reservation_id', '=', id).executeTakeFirst()
    const alarms = await db
      .selectFrom('settlement_alarms')
      .selectAll()
      .where('reservation_id', '=', id)
      .orderBy('seq')
      .execute()
    if (reservation === undefined && usage === undefined && alarms.length === 0) {
      throw new AdminError('not_found', `There is no request ${id}.`)
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
    }
  },
})

export const REQUEST_OPERATIONS = [readRequest] as const

/** Null of a tombstone: it says only that the id was released before anything was held. */
function toHold(row: Selectable<Tables['reservations']>): z.input<typeof Hold> | null {
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

async function readPrices(db: Kysely<Tables>, version: bigint): Promise<z.input<typeof Prices>> {
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

function toSettlement(row: Selectable<Tables['usage']>): z.input<typeof Settlement> {
  return {
    outcome: row.outcome,
    promptTokens: row.prompt_tokens,
    cachedTokens: row.cached_tokens,
    completionTokens: row.completion_tokens,
    costNano: row.cost,
    chargedNano: row.charged.toString(),
    writtenOffNano: (BigInt(row.cost) - row.charged).toString(),
    late: row.late,
    worker: row.settled_by,
    epoch: row.epoch,
    settledAt: row.settled_at.toISOString(),
  }
}
