import { status, type sendUnaryData } from '@grpc/grpc-js'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { AccountOperationId } from '#libs/account-contract/account-contract.ts'
import type { Asker } from '#libs/billing-client/ask-account.ts'
import { toKeyMessage } from '#libs/billing-client/billing-wire.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { AskRequest__Output } from '#proto/types/millrace/billing/AskRequest.ts'
import type { AskResponse } from '#proto/types/millrace/billing/AskResponse.ts'
import type { BillingHandlers } from '#proto/types/millrace/billing/Billing.ts'
import type { LookUpKeyResponse } from '#proto/types/millrace/billing/LookUpKeyResponse.ts'
import { AdminError } from '../resources/admin-error.ts'
import type { Tables } from '../database/tables.ts'
import { ACTIVITY_OPERATIONS } from './activity.ts'
import { GENERATION_OPERATIONS } from './generations.ts'
import type { Implementation } from './implement.ts'
import { toRefusal } from './key-limits.ts'
import { KEY_OPERATIONS } from './keys.ts'
import { findManagementKey } from './managers.ts'
import { OWN_KEY_OPERATIONS } from './own-key.ts'

const OPERATIONS: Readonly<Record<AccountOperationId, Implementation>> = {
  ...OWN_KEY_OPERATIONS,
  ...GENERATION_OPERATIONS,
  ...ACTIVITY_OPERATIONS,
  ...KEY_OPERATIONS,
}

const BY_ID: ReadonlyMap<string, Implementation> = new Map(Object.entries(OPERATIONS))

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const AskedJson = z.object({
  params: z.unknown(),
  query: z.unknown(),
  headers: z.unknown(),
  body: z.unknown(),
})

/**
 * Serves the operations that callers may use: an API key reads its own data, and a management key also manages its
 * account's keys. `db` has a few connections of its own, so that only a few operations run at once. Each further
 * operation waits for a connection, and fails if it gets none within the pool's time limit. Money functions use other
 * connections, so they never wait for these operations.
 */
export function serveCallers(deps: {
  db: Kysely<Tables>
  nowMs: () => number
  log: Logger
}): Pick<BillingHandlers, 'LookUpManagementKey' | 'Ask'> {
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
      log.warn({ err: error }, 'a caller’s request was not answered')
      callback({ code: status.UNAVAILABLE, details: 'the database did not answer' })
    }
  }

  async function ask(request: AskRequest__Output): Promise<AskResponse> {
    const implementation = BY_ID.get(request.operation)
    if (implementation === undefined) throw new RangeError('there is no such operation')
    const [asker, asked] = [readAsker(request), readAsked(request.json)]
    try {
      return { json: JSON.stringify(await implementation(asked, { db, now: now(), asker })) }
    } catch (error) {
      const refusal = error instanceof AdminError ? toRefusal(error) : error
      if (!(refusal instanceof ApiError)) throw error
      const { code, message, param = '' } = refusal
      return { refusal: { code, message, param } }
    }
  }

  return {
    LookUpManagementKey({ request }, callback) {
      const find = async (): Promise<LookUpKeyResponse> => {
        const key = await findManagementKey(db, request.keySha256, now())
        return key === null ? { found: false } : { found: true, key: toKeyMessage(key) }
      }
      void answer(find, callback)
    },
    Ask({ request }, callback) {
      void answer(async () => await ask(request), callback)
    },
  }
}

function readAsker({ keyId, managementKeyId }: AskRequest__Output): Asker {
  return managementKeyId === undefined
    ? { keyId: readUuid(keyId ?? '') }
    : { managementKeyId: readUuid(managementKeyId) }
}

function readAsked(json: string) {
  try {
    return AskedJson.parse(JSON.parse(json))
  } catch (error) {
    throw new RangeError('the request is not JSON of its four parts', { cause: error })
  }
}

function readUuid(text: string): string {
  if (!UUID.test(text)) throw new RangeError(`${text} is not a UUID`)
  return text
}
