import { parseCredits } from '#libs/money/nano-credits.ts'
import { toCreditsNumber } from '#libs/money/price-usage.ts'
import type { AccountKey__Output } from '#proto/types/millrace/billing/AccountKey.ts'
import type { KeySettings } from '#proto/types/millrace/billing/KeySettings.ts'
import { AccountKey, type KeyChangeBody } from './key-schemas.ts'

const RESETS: Readonly<Record<string, 'daily' | 'weekly' | 'monthly'>> = {
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
}
const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

const toCredits = (nano: string) => toCreditsNumber(BigInt(nano))
const timeOrNull = (ms: string) => (ms === '0' ? null : new Date(Number(ms)).toISOString())
const textOrNull = (text: string) => (text === '' ? null : text)
const countOrNull = (count: number) => (count === 0 ? null : count)

export function toAccountKey(key: AccountKey__Output): AccountKey {
  const { limit, usage } = key
  const nano = {
    usage: usage?.totalNano ?? '0',
    usage_daily: usage?.dayNano ?? '0',
    usage_weekly: usage?.weekNano ?? '0',
    usage_monthly: usage?.monthNano ?? '0',
    limit: limit?.amountNano ?? null,
    limit_remaining: limit?.leftNano ?? null,
  }
  return {
    id: key.keyId,
    label: key.label,
    name: textOrNull(key.name),
    status: AccountKey.shape.status.parse(key.status),
    disabled: key.status === 'disabled',
    usage: toCredits(nano.usage),
    usage_daily: toCredits(nano.usage_daily),
    usage_weekly: toCredits(nano.usage_weekly),
    usage_monthly: toCredits(nano.usage_monthly),
    limit: nano.limit === null ? null : toCredits(nano.limit),
    limit_remaining: nano.limit_remaining === null ? null : toCredits(nano.limit_remaining),
    limit_reset: RESETS[limit?.period ?? ''] ?? null,
    expires_at: timeOrNull(key.expiresAtMs),
    models: key.models?.ids ?? null,
    requests_per_minute: countOrNull(key.requestsPerMinute),
    tokens_per_minute: countOrNull(Number(key.tokensPerMinute)),
    created_at: new Date(Number(key.createdAtMs)).toISOString(),
    last_used_at: timeOrNull(key.lastUsedAtMs),
    revoked_at: timeOrNull(key.revokedAtMs),
    rotated_from: textOrNull(key.rotatedFrom),
    nano,
  }
}

/** Null removes a setting; what is absent stays. */
export function toSettings(body: KeyChangeBody): KeySettings {
  const { name, limit, expires_at: expiresAt, models } = body
  const { requests_per_minute: requests, tokens_per_minute: tokens, disabled } = body
  const period = toPeriod(body)
  return {
    ...(name !== undefined && { name: name ?? '' }),
    ...(limit !== undefined && { limitNano: limit === null ? '0' : toNano(limit) }),
    ...(period !== undefined && { limitPeriod: period }),
    ...(expiresAt !== undefined && { expiresAtMs: expiresAt === null ? '0' : toMs(expiresAt) }),
    ...(models !== undefined && { models: { ids: models ?? [] } }),
    ...(requests !== undefined && { requestsPerMinute: requests ?? 0 }),
    ...(tokens !== undefined && { tokensPerMinute: String(tokens ?? 0) }),
    ...(disabled !== undefined && { disabled }),
  }
}

/** A limit that is removed has no period. */
function toPeriod({ limit, limit_reset: reset }: KeyChangeBody): string | undefined {
  if (reset === undefined || (reset === null && limit === null)) return undefined
  return reset === null ? 'total' : PERIODS[reset]
}

/** The schema allows 9 decimals at most, so nothing is rounded. */
const toNano = (credits: number) => parseCredits(credits.toFixed(9)).toString()

/** 0 would be no expiry. */
const toMs = (time: string) => String(Math.max(1, Date.parse(time)))
