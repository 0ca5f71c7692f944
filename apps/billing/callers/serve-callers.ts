import { status, type sendUnaryData } from '@grpc/grpc-js'
import type { Kysely } from 'kysely'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { BillingHandlers } from '#proto/types/millrace/billing/Billing.ts'
import type { Tables } from '../database/tables.ts'
import { readActivity } from './read-activity.ts'
import { listGenerations, readGeneration } from './read-generations.ts'
import { readKey } from './read-key.ts'

type Reads = Pick<BillingHandlers, 'ReadKey' | 'ReadGeneration' | 'ListGenerations' | 'ReadActivity'>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const MAX_PAGE = 50

/**
 * What callers read of their own keys. `db` has few connections of its own, which bound how many reads run at once: the
 * others wait for a connection until they fail, and money never waits for them.
 */
export function serveCallers(deps: { db: Kysely<Tables>; nowMs: () => number; log: Logger }): Reads {
  const { db, nowMs, log } = deps

  async function answer<Answer>(read: () => Promise<Answer>, callback: sendUnaryData<Answer>) {
    try {
      callback(null, await read())
    } catch (error) {
      if (error instanceof RangeError) {
        callback({ code: status.INVALID_ARGUMENT, details: error.message })
        return
      }
      log.warn({ err: error }, 'a caller’s read was not answered')
      callback({ code: status.UNAVAILABLE, details: 'the database did not answer' })
    }
  }

  return {
    ReadKey({ request: { keyId } }, callback) {
      void answer(async () => ({ key: await readKey(db, readUuid(keyId), new Date(nowMs())) }), callback)
    },
    ReadGeneration({ request: { keyId, reservationId } }, callback) {
      const read = async () =>
        await readGeneration(db, { keyId: readUuid(keyId), id: readUuid(reservationId) })
      void answer(read, callback)
    },
    ListGenerations({ request: { keyId, limit, cursor } }, callback) {
      const read = async () => {
        if (limit < 1 || limit > MAX_PAGE) throw new RangeError('limit')
        return await listGenerations(db, { keyId: readUuid(keyId), limit, cursor })
      }
      void answer(read, callback)
    },
    ReadActivity({ request: { keyId, from, to } }, callback) {
      void answer(async () => await readActivity(db, { keyId: readUuid(keyId), from, to }), callback)
    },
  }
}

function readUuid(text: string): string {
  if (!UUID.test(text)) throw new RangeError(`${text} is not a UUID`)
  return text
}
