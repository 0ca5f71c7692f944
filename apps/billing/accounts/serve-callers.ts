import { status, type sendUnaryData } from '@grpc/grpc-js'
import type { Kysely } from 'kysely'
import { toKeyMessage } from '#libs/billing-client/billing-wire.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { BillingHandlers } from '#proto/types/millrace/billing/Billing.ts'
import type { LookUpKeyResponse } from '#proto/types/millrace/billing/LookUpKeyResponse.ts'
import type { Tables } from '../database/tables.ts'
import { listAccountKeys } from './account-keys.ts'
import { manageKey } from './manage-key.ts'
import { findManagementKey, NotAManager, readManager } from './managers.ts'
import { readActivity } from './read-activity.ts'
import { listGenerations, readGeneration } from './read-generations.ts'
import { readKey, readManagementKey } from './read-key.ts'
import type { Scope } from './scope.ts'

type Calls = Pick<
  BillingHandlers,
  | 'ReadKey'
  | 'ReadGeneration'
  | 'ListGenerations'
  | 'ReadActivity'
  | 'LookUpManagementKey'
  | 'ListAccountKeys'
  | 'ManageKey'
>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const MAX_PAGE = 50

/**
 * What callers read of their own keys, and what management keys do. `db` has few connections of its own, which bound how
 * many run at once: the others wait for a connection until they fail, and money never waits for them.
 */
export function serveCallers(deps: { db: Kysely<Tables>; nowMs: () => number; log: Logger }): Calls {
  const { db, log } = deps
  const now = () => new Date(deps.nowMs())

  async function answer<Answer>(call: () => Promise<Answer>, callback: sendUnaryData<Answer>) {
    try {
      callback(null, await call())
    } catch (error) {
      if (error instanceof RangeError) {
        callback({ code: status.INVALID_ARGUMENT, details: error.message })
        return
      }
      if (error instanceof NotAManager) {
        callback({ code: status.UNAUTHENTICATED, details: error.message })
        return
      }
      log.warn({ err: error }, 'a caller’s request was not answered')
      callback({ code: status.UNAVAILABLE, details: 'the database did not answer' })
    }
  }

  async function scopeOf({ keyId, managementKeyId }: Asker): Promise<Scope> {
    if (managementKeyId === '') return { column: 'key_id', id: readUuid(keyId) }
    const { accountId } = await readManager(db, readUuid(managementKeyId), now())
    return { column: 'account_id', id: accountId }
  }

  async function keyOf({ keyId, managementKeyId }: Asker) {
    if (managementKeyId === '') return await readKey(db, readUuid(keyId), now())
    const manager = await readManager(db, readUuid(managementKeyId), now())
    return await readManagementKey(db, manager, now())
  }

  return {
    ReadKey({ request }, callback) {
      void answer(async () => ({ key: await keyOf(request) }), callback)
    },
    ReadGeneration({ request }, callback) {
      const read = async () =>
        await readGeneration(db, await scopeOf(request), readUuid(request.reservationId))
      void answer(read, callback)
    },
    ListGenerations({ request }, callback) {
      const { limit, cursor } = request
      const read = async () =>
        await listGenerations(db, await scopeOf(request), { limit: readLimit(limit), cursor })
      void answer(read, callback)
    },
    ReadActivity({ request }, callback) {
      const { from, to } = request
      void answer(async () => await readActivity(db, await scopeOf(request), { from, to }), callback)
    },
    LookUpManagementKey({ request }, callback) {
      const find = async (): Promise<LookUpKeyResponse> => {
        const key = await findManagementKey(db, request.keySha256, now())
        return key === null ? { found: false } : { found: true, key: toKeyMessage(key) }
      }
      void answer(find, callback)
    },
    ListAccountKeys({ request: { managementKeyId, limit, cursor } }, callback) {
      const list = async () => {
        const { accountId } = await readManager(db, readUuid(managementKeyId), now())
        return await listAccountKeys(db, { accountId, limit: readLimit(limit), cursor }, now())
      }
      void answer(list, callback)
    },
    ManageKey({ request }, callback) {
      const manage = async () => {
        readUuid(request.managementKeyId)
        if (!request.create) readUuid(request.keyId)
        return await manageKey(db, request, now())
      }
      void answer(manage, callback)
    },
  }
}

/** One of the two ids; the other one is empty. */
type Asker = { readonly keyId: string; readonly managementKeyId: string }

function readLimit(limit: number): number {
  if (limit < 1 || limit > MAX_PAGE) throw new RangeError('limit')
  return limit
}

function readUuid(text: string): string {
  if (!UUID.test(text)) throw new RangeError(`${text} is not a UUID`)
  return text
}
