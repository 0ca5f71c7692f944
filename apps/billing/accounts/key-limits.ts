import type { Limits } from '#libs/account-contract/resources/keys.ts'
import { toPeriod } from '#libs/account-contract/spend-period.ts'
import type { Key, KeyLimits } from '#libs/admin-contract/resources/keys.ts'
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import { parseCredits, toNanoCredits } from '#libs/money/nano-credits.ts'
import { AdminError } from '../resources/admin-error.ts'

/**
 * Converts the limits in a caller's request to limits in the form that the operators' operations use. Null removes a
 * limit, and an absent limit stays. `present` is the key that is changed; null if the request makes a key. Throws an
 * AdminError for a `limit_reset` without a limit.
 */
export function toLimits(wanted: Limits, present: Key | null): KeyLimits {
  const { name, expires_at: expiresAt, models } = wanted
  const { requests_per_minute: requests, tokens_per_minute: tokens } = wanted
  const spendLimit = toSpendLimit(wanted, present)
  return {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
    ...(models !== undefined && { models }),
    ...(spendLimit !== undefined && { spendLimit }),
    ...(requests !== undefined && { requestsPerMinute: requests }),
    ...(tokens !== undefined && { tokensPerMinute: tokens }),
  }
}

/**
 * Combines the amount and the period of a spend limit. If a request gives only the period, the key's amount stays. If
 * it gives only the amount, the key's period stays, or is `total` if the key has none. Returns null if the request
 * removes the limit, and undefined if it gives neither.
 */
function toSpendLimit({ limit, limit_reset: reset }: Limits, present: Key | null): KeyLimits['spendLimit'] {
  if (limit === undefined && reset === undefined) return undefined
  if (limit === null && reset == null) return null
  const before = present?.spendLimit ?? null
  const amountNano = limit === undefined ? before && toNanoCredits(before.amountNano) : toNano(limit)
  if (amountNano === null) {
    const message = "'spendLimit': expected a limit, because its reset is given"
    throw new AdminError('invalid_request', message, 'spendLimit')
  }
  if (reset === undefined) return { amountNano, period: before?.period ?? 'total' }
  return { amountNano, period: toPeriod(reset) }
}

/** Converts credits to nano-credits. The schema allows at most 9 decimals, so nothing is rounded. */
function toNano(credits: number | null): bigint | null {
  return credits === null ? null : parseCredits(credits.toFixed(9))
}

const CODES: Partial<Record<AdminError['code'], ApiErrorCode>> = {
  not_found: 'key_not_found',
  conflict: 'key_conflict',
  invalid_request: 'invalid_request',
}

/** The admin interface's names of fields, and the names in the public interface. */
const FIELDS: Readonly<Record<string, string>> = {
  expiresAt: 'expires_at',
  spendLimit: 'limit',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
}

/**
 * Converts an error of an operators' operation to an error of the public interface. Returns undefined for a code
 * without a counterpart in the public interface.
 */
export function toRefusal({ code: given, message, param: field }: AdminError): ApiError | undefined {
  const code = CODES[given]
  if (code === undefined) return undefined
  if (field === undefined) return new ApiError(code, message)
  const param = FIELDS[field] ?? field
  return new ApiError(code, `'${param}': ${message.replace(/^'[^']*': /, '')}.`, { param })
}
