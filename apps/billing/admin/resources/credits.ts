import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import { z } from 'zod'
import { AdminError } from '../admin-error.ts'
import { Id, Nano, POSITIVE_AMOUNT, Reason, SIGNED_AMOUNT, Text, oneAmount } from '../fields.ts'
import { NOTHING, defineChange, type AdminContext, type Changed } from '../operation.ts'
import { AccountPath } from './accounts.ts'

const IdempotencyKey = Text.min(1).max(200).meta({
  description: 'The same key moves credits once, however often it is sent.',
})

const Movement = z
  .object({
    id: Id,
    amountNano: Nano,
    postedNano: Nano.meta({ description: 'Of the account, as it is now.' }),
    replayed: z.boolean().meta({ description: 'It had been done before; nothing moved now.' }),
  })
  .meta({ id: 'CreditMovement' })

const topUp = defineChange({
  id: 'topUp',
  method: 'POST',
  url: '/accounts/{account}/topups',
  status: 201,
  summary: 'Gives an account credits that were paid for.',
  path: AccountPath,
  query: NOTHING,
  body: movementOf(POSITIVE_AMOUNT),
  answer: Movement,
  errors: ['not_found', 'conflict', 'request_too_large'],
  run: ({ path, body }, context) => move(context, path.account, { ...body, function: 'top_up' }),
})

const adjust = defineChange({
  id: 'adjust',
  method: 'POST',
  url: '/accounts/{account}/adjustments',
  status: 201,
  summary: 'Corrects a balance: gives credits, or takes what is available.',
  path: AccountPath,
  query: NOTHING,
  body: movementOf(SIGNED_AMOUNT),
  answer: Movement,
  errors: ['not_found', 'conflict', 'insufficient_credits', 'request_too_large'],
  run: ({ path, body }, context) => move(context, path.account, { ...body, function: 'adjust' }),
})

export const CREDIT_OPERATIONS = [topUp, adjust] as const

function movementOf(amount: typeof POSITIVE_AMOUNT) {
  return z
    .strictObject({ ...amount, idempotencyKey: IdempotencyKey, reason: Reason })
    .transform(({ idempotencyKey, reason, ...given }, context) => {
      const amountNano = oneAmount(given)
      if (amountNano !== null) return { amountNano, idempotencyKey, reason }
      context.addIssue({ code: 'custom', path: ['credits'], message: 'give either credits or amountNano' })
      return z.NEVER
    })
}

type Asked = {
  readonly function: 'top_up' | 'adjust'
  readonly amountNano: bigint
  readonly idempotencyKey: string
  readonly reason: string
}

type Answer = {
  status: 'posted' | 'replayed' | 'conflict' | 'unknown' | 'insufficient'
  id: string
  posted: bigint
}

async function move(
  { db, now }: AdminContext,
  account: string,
  { amountNano, idempotencyKey, reason, ...asked }: Asked,
): Promise<Changed<z.input<typeof Movement>>> {
  const call = sql`${sql.raw(asked.function)}(movement => ${randomUUID()}, account => ${account},
    amount => ${amountNano}, why => ${reason}, key => ${idempotencyKey}, at => ${now})`
  const { rows } = await sql<Answer>`select status, movement_id as id, posted from ${call}`
    .execute(db)
    .catch(explainOverflow)
  const [row] = rows
  if (row === undefined || row.status === 'unknown') {
    throw new AdminError('not_found', `There is no account ${account}.`)
  }
  if (row.status === 'conflict') {
    const problem = 'This idempotency key was used with another amount or reason.'
    throw new AdminError('conflict', problem, 'idempotencyKey')
  }
  if (row.status === 'insufficient') {
    const problem = 'The account has less available than this would take: what is held cannot be taken.'
    throw new AdminError('insufficient_credits', problem)
  }
  const answer = { id: row.id, amountNano: `${amountNano}`, postedNano: `${row.posted}` }
  if (row.status === 'replayed') return { answer: { ...answer, replayed: true }, audit: null }
  const details = { amountNano: answer.amountNano, idempotencyKey, movement: row.id }
  return { answer: { ...answer, replayed: false }, audit: { target: account, reason, details } }
}

/** PostgreSQL's numeric_value_out_of_range: a balance is a bigint. */
function explainOverflow(error: unknown): never {
  if (error instanceof DatabaseError && error.code === '22003') {
    throw new AdminError('invalid_request', 'This is more than an account can have.')
  }
  throw error
}
