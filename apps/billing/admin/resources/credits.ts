import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { CreditMovement } from '#libs/admin-contract/resources/credits.ts'
import { AdminError } from '../../resources/admin-error.ts'
import type { Changed } from '../../resources/write-audit.ts'
import { implementChange, type AdminContext } from '../implement.ts'

const topUp = implementChange(ADMIN.topUp, ({ params, body }, context) =>
  move(context, params.account, { ...body, function: 'top_up' }),
)

const adjust = implementChange(ADMIN.adjust, ({ params, body }, context) =>
  move(context, params.account, { ...body, function: 'adjust' }),
)

export const CREDIT_OPERATIONS = { topUp, adjust }

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
): Promise<Changed<CreditMovement>> {
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
    const problem = 'The account has less available than this would take; held credits cannot be taken.'
    throw new AdminError('insufficient_credits', problem)
  }
  const answer = { id: row.id, amountNano: `${amountNano}`, postedNano: `${row.posted}` }
  if (row.status === 'replayed') return { answer: { ...answer, replayed: true }, audit: null }
  const details = { amountNano: answer.amountNano, idempotencyKey, movement: row.id }
  return { answer: { ...answer, replayed: false }, audit: { target: account, reason, details } }
}

/**
 * Handles an error in `catch`: throws an AdminError if a balance would exceed a bigint (PostgreSQL's error 22003,
 * numeric_value_out_of_range), and throws every other error as it is.
 */
function explainOverflow(error: unknown): never {
  if (error instanceof DatabaseError && error.code === '22003') {
    throw new AdminError('invalid_request', 'The balance would be larger than an account can have.')
  }
  throw error
}
