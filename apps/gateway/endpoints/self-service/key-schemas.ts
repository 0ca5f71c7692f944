import { z } from 'zod'
import { listOf } from '#libs/http-contract/list-of.ts'
import { Count, Credits, Nano, Time } from './schemas.ts'

/** One nano-credit is the unit, and a JSON number is exact to it up to this many credits. */
const MAX_LIMIT = 1_000_000
const NANO_PER_CREDIT = 1e9

const MAX_OVERLAP_S = 30 * 24 * 60 * 60

/** Text that the database can store. */
const Text = z
  .string('expected a string')
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'expected text without NUL')

const Reset = z.enum(['daily', 'weekly', 'monthly'], 'expected daily, weekly or monthly')

const ACCOUNT_KEY = {
  id: z.uuid().meta({ description: 'For `/v1/keys/{id}`. It is no secret.' }),
  label: z.string().meta({ description: 'The first and last characters of the key.' }),
  name: z.string().nullable(),
  status: z.enum(['active', 'disabled', 'expired', 'revoked']),
  disabled: z.boolean(),
  usage: Credits.meta({ description: 'Charged to this key so far.' }),
  usage_daily: Credits.meta({ description: 'Since midnight UTC.' }),
  usage_weekly: Credits.meta({ description: 'Since Monday, midnight UTC.' }),
  usage_monthly: Credits.meta({ description: 'Since the first of the month, midnight UTC.' }),
  limit: Credits.nullable().meta({ description: 'The spend limit of the key; null: none.' }),
  limit_remaining: Credits.nullable(),
  limit_reset: Reset.nullable().meta({
    description: 'When the spend limit begins anew; null: never, or no limit.',
  }),
  expires_at: Time.nullable(),
  models: z.array(z.string()).nullable().meta({ description: 'What the key may use; null: all.' }),
  requests_per_minute: Count.nullable(),
  tokens_per_minute: Count.nullable(),
  created_at: Time,
  last_used_at: Time.nullable().meta({ description: 'The newest settlement of one of its requests.' }),
  revoked_at: Time.nullable(),
  rotated_from: z.uuid().nullable().meta({ description: 'The key that this one replaces.' }),
  nano: z.object({
    usage: Nano,
    usage_daily: Nano,
    usage_weekly: Nano,
    usage_monthly: Nano,
    limit: Nano.nullable(),
    limit_remaining: Nano.nullable(),
  }),
}

/** A key of the account as a management key sees it. */
export const AccountKey = z.object(ACCOUNT_KEY)
export type AccountKey = z.infer<typeof AccountKey>

export const AccountKeyAnswer = z.object({ data: AccountKey })

export const AccountKeysAnswer = z.object({
  data: z.array(AccountKey),
  next_cursor: z.string().nullable().meta({ description: 'For the next page; null: this is the last one.' }),
})

export const NewKeyAnswer = z.object({
  data: AccountKey,
  key: z
    .string()
    .nullable()
    .meta({ description: 'The secret, shown only here. Null where the request was made before.' }),
  replayed: z.boolean().meta({
    description:
      'The key had been made before by a request with the same `idempotency-key`; this one made none.',
  }),
})
export type NewKeyAnswer = z.infer<typeof NewKeyAnswer>

const PerMinute = z
  .int('expected a whole number')
  .min(1, 'expected at least 1')
  .max(1_000_000_000, 'expected at most 1,000,000,000')

/** In a request; null removes it. */
const LIMITS = {
  name: Text.trim().min(1, 'expected 1 to 200 characters').max(200, 'expected 1 to 200 characters').nullish(),
  limit: z
    .number('expected a number of credits')
    .min(1 / NANO_PER_CREDIT, 'expected more than 0 credits')
    .max(MAX_LIMIT, `expected at most ${MAX_LIMIT.toLocaleString('en')} credits`)
    .refine((credits) => Number(credits.toFixed(9)) === credits, 'expected at most 9 decimals')
    .nullish(),
  limit_reset: Reset.nullish().meta({ description: 'Null: the limit is for the whole life of the key.' }),
  expires_at: z.iso
    .datetime({ offset: true, error: 'expected a time such as 2030-01-01T00:00:00Z' })
    .nullish(),
  models: listOf(Text.min(1).max(200), {
    expected: 'expected a list of model ids',
    least: [1, 'expected 1 to 100 models'],
    most: [100, 'expected 1 to 100 models'],
  }).nullish(),
  requests_per_minute: PerMinute.nullish(),
  tokens_per_minute: PerMinute.nullish(),
}

/** Strict: a misspelt limit would make a key without one. */
export const NewKeyBody = z.strictObject(LIMITS)

export const KeyChangeBody = z.strictObject({
  ...LIMITS,
  disabled: z.boolean('expected true or false').optional(),
})
export type KeyChangeBody = z.infer<typeof KeyChangeBody>

export const RotationBody = z.strictObject({
  overlap_seconds: z
    .int('expected a whole number')
    .min(0, 'expected at least 0')
    .max(MAX_OVERLAP_S, `expected at most ${MAX_OVERLAP_S}`)
    .meta({ description: 'How long the old secret stays valid.' }),
})

export const RevokedKeyAnswer = z.object({ data: AccountKey, deleted: z.literal(true) })
