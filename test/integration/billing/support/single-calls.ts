import type { ReserveCall } from '#libs/billing-client/billing-calls.ts'
import { only, reserveCall, settlement, type BillingDatabase } from './billing-database.ts'

/** Returns a reserve call with a deadline ten minutes from now. */
export const newCall = (database: BillingDatabase, keyId: string, fields: Partial<ReserveCall> = {}) =>
  reserveCall(keyId, { deadlineMs: database.clock.nowMs + 600_000, ...fields })

export const reserve = async (database: BillingDatabase, call: ReserveCall) =>
  only(await database.money.reserve([call]))

export const settle = async (database: BillingDatabase, ...fields: Parameters<typeof settlement>) =>
  only(await database.money.settle([settlement(...fields)]))

/** Makes a hold, and returns its call with billing's answer. Throws if billing does not grant it. */
export async function hold(database: BillingDatabase, keyId: string, fields: Partial<ReserveCall> = {}) {
  const call = newCall(database, keyId, fields)
  const answer = await reserve(database, call)
  if (answer.status !== 'granted') throw new Error(`expected a hold, got ${answer.status}`)
  return { ...call, answer }
}

/** Reserves, settles what was granted, and returns the status of the reserve. */
export async function spend(database: BillingDatabase, keyId: string) {
  const call = newCall(database, keyId)
  const { status } = await reserve(database, call)
  if (status === 'granted') await settle(database, call.reservationId)
  return status
}

/** Creates a key with limits, of a new account with credits for more than a hundred calls. */
export async function createLimitedKey(database: BillingDatabase, limits: object) {
  const { accountId } = await database.createAccount(100_000n)
  return { accountId, ...(await database.operator.createKey(accountId, limits)) }
}
