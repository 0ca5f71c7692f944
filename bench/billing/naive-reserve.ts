import type { Pool } from 'pg'
import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'

/**
 * Creates the naive design, with which billing is compared. Each reservation is one transaction with five round trips,
 * and keeps the lock of the account's row during three of them. It writes the same rows into the same tables as
 * billing, but without billing's checks of key, model, price, limits and repetitions. It gets the account and the
 * amount from its options.
 */
export function createNaiveReserve(options: {
  pool: Pool
  accountOf: (keyId: string) => string
  priceVersion: bigint
  amountNano: bigint
}): (call: ReserveCall) => Promise<void> {
  const { pool, accountOf, priceVersion, amountNano } = options
  return async (call) => {
    const accountId = accountOf(call.keyId)
    const client = await pool.connect()
    try {
      await client.query('begin')
      const { rows } = await client.query<{ posted: bigint; held: bigint }>({
        name: 'naive-lock',
        text: 'select posted, held from accounts where id = $1 for update',
        values: [accountId],
      })
      const account = rows[0]
      if (account === undefined || account.posted - account.held < amountNano) {
        throw new Error('the account cannot pay')
      }
      const deadline = new Date(call.deadlineMs)
      await client.query({
        name: 'naive-insert',
        text: `insert into reservations (
            id, state, key_id, model, input_tokens, wanted_output, deadline, account_id, price_version, granted_output,
            amount, clamped, expires_at, created_at
          ) values ($1, 'held', $2, $3, $4, $5, $6, $7, $8, $5, $9, false, $6, $10)`,
        values: [
          call.reservationId,
          call.keyId,
          call.model,
          call.inputTokens,
          call.outputTokens,
          deadline,
          accountId,
          priceVersion,
          amountNano,
          new Date(),
        ],
      })
      await client.query({
        name: 'naive-update',
        text: 'update accounts set held = held + $2 where id = $1',
        values: [accountId, amountNano],
      })
      await client.query('commit')
      client.release()
    } catch (error) {
      client.release(true)
      throw error
    }
  }
}
