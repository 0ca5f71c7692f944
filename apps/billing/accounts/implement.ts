import type { Kysely } from 'kysely'
import type { AccountOperation, AnswerOf } from '#libs/account-contract/operation.ts'
import type { Asker } from '#libs/billing-client/ask-account.ts'
import { parseAsked, type Asked, type ParsedOf } from '#libs/http-contract/parse-asked.ts'
import { toInvalidRequest } from '../resources/admin-error.ts'
import type { KeyContext } from '../resources/operator-limits.ts'
import { runTransaction } from '../database/run-transaction.ts'
import type { Tables } from '../database/tables.ts'
import { lockManager, readManager, type Manager } from './managers.ts'
import type { Scope } from './scope.ts'

type Call = { readonly db: Kysely<Tables>; readonly now: Date; readonly asker: Asker }

/**
 * Serves one operation and returns its answer in the shape that `#libs/account-contract` defines. Throws an ApiError or
 * an AdminError to refuse the request.
 */
export type Implementation = (asked: Asked, call: Call) => Promise<unknown>

/** The context of a read operation. An API key reads about itself, a management key about its account. */
export type Reading = {
  readonly db: Kysely<Tables>
  readonly now: Date
  /** The management key; null if the caller is the API key of `scope`. */
  readonly manager: Manager | null
  readonly scope: Scope
}

/**
 * The context of an operation that needs a management key. If the operation changes something, `db` is the transaction
 * of this change, in which the account's management keys are locked.
 */
export type Managing = KeyContext & { readonly manager: Manager }

export function forAnyKey<Op extends AccountOperation>(
  operation: Op,
  run: (asked: ParsedOf<Op>, reading: Reading) => Promise<AnswerOf<Op>>,
): Implementation {
  return async (asked, { db, now, asker }) => {
    const parsed = parseAsked(operation, asked, toInvalidRequest)
    if ('keyId' in asker) {
      return await run(parsed, { db, now, manager: null, scope: { column: 'key_id', id: asker.keyId } })
    }
    const manager = await readManager(db, asker.managementKeyId, now)
    return await run(parsed, { db, now, manager, scope: { column: 'account_id', id: manager.accountId } })
  }
}

export function forManager<Op extends AccountOperation>(
  operation: Op,
  run: (asked: ParsedOf<Op>, managing: Managing) => Promise<AnswerOf<Op>>,
): Implementation {
  return async (asked, { db, now, asker }) => {
    if ('keyId' in asker) throw new RangeError('the operation needs a management key')
    const { managementKeyId: id } = asker
    const parsed = parseAsked(operation, asked, toInvalidRequest)
    if (operation.kind === 'read') {
      return await run(parsed, { db, now, manager: await readManager(db, id, now), setBy: 'account' })
    }
    return await runTransaction(db, async (transaction) => {
      const manager = await lockManager(transaction, id, now)
      return await run(parsed, { db: transaction, now, manager, setBy: 'account' })
    })
  }
}
