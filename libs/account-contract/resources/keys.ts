import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import {
  ALLOWED,
  EXAMPLE_KEY,
  pageOf,
  pageQuery,
  Reset,
  SPENDING,
  SPENDING_NANO,
  Time,
  UUID,
} from '../fields.ts'
import { BY_MANAGEMENT_KEY, defineChange, defineRead, MANAGE_ERRORS } from '../operation.ts'

/** Up to this many credits, a JSON number is exact to one nano-credit, the smallest unit. */
const MAX_LIMIT = 1_000_000
const NANO_PER_CREDIT = 1e9

const MAX_OVERLAP_S = 30 * 24 * 60 * 60

/** Text that the database can store. */
const Text = z
  .string('expected a string')
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'expected text without NUL')

/** A key of the account as a management key sees it. */
const AccountKey = z.object({
  id: z.uuid().meta({ description: 'For `/v1/keys/{id}`. It is no secret.' }),
  label: z.string().meta({ description: 'The first and last characters of the key.' }),
  name: z.string().nullable(),
  status: z.enum(['active', 'disabled', 'expired', 'revoked']),
  disabled: z.boolean(),
  ...SPENDING,
  expires_at: Time.nullable(),
  ...ALLOWED,
  created_at: Time,
  last_used_at: Time.nullable().meta({ description: 'The newest settlement of one of its requests.' }),
  revoked_at: Time.nullable(),
  rotated_from: z.uuid().nullable().meta({ description: 'The key that this one replaces.' }),
  nano: z.object(SPENDING_NANO),
})
export type AccountKey = z.infer<typeof AccountKey>

const NewKey = z.object({
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
export type NewKey = z.infer<typeof NewKey>

const PerMinute = z
  .int('expected a whole number')
  .min(1, 'expected at least 1')
  .max(1_000_000_000, 'expected at most 1,000,000,000')

/** The limits of a key in a request; null removes a limit. */
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

/** Strict, because a misspelt limit would make a key without that limit. */
const Limits = z.strictObject(LIMITS)
export type Limits = z.infer<typeof Limits>

const Change = z
  .strictObject({ ...LIMITS, disabled: z.boolean('expected true or false').optional() })
  .superRefine((change, { issues }) => {
    // zod has already removed unknown fields, and has added an issue for each.
    if (Object.keys(change).length > 0 || issues.length > 0) return
    throw new ApiError('invalid_request', 'Give at least one field to change.')
  })
export type KeyChange = z.infer<typeof Change>

const Rotation = z.strictObject({
  overlap_seconds: z
    .int('expected a whole number')
    .min(0, 'expected at least 0')
    .max(MAX_OVERLAP_S, `expected at most ${MAX_OVERLAP_S}`)
    .meta({ description: 'How long the old secret stays valid.' }),
})

const key: AccountKey = {
  id: '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77',
  ...EXAMPLE_KEY.naming,
  status: 'active',
  disabled: false,
  ...EXAMPLE_KEY.spending,
  ...EXAMPLE_KEY.allowed,
  created_at: '2026-11-01T09:00:00.000Z',
  last_used_at: '2026-11-21T17:13:12.001Z',
  revoked_at: null,
  rotated_from: null,
  nano: EXAMPLE_KEY.nano,
}

const secret = 'mr_live_4cFhqWJpZ0s7XbD2nVtYkGmRuLe8AaQoC1xCRh'

/** An id that no key can have is answered with the same error as an unknown id. */
const KeyPath = z.strictObject({
  id: z
    .string()
    .transform((text) => {
      const id = text.toLowerCase()
      if (UUID.test(id)) return id
      throw new ApiError('key_not_found', 'There is no key with this id.')
    })
    .meta({ ...z.toJSONSchema(z.uuid()), description: 'The id of a key of the account.', example: key.id }),
})

const ONCE =
  'Requests of the account with the same `idempotency-key` make one key: a repeated one is answered with `replayed: true` ' +
  'and without the secret, for 30 days.'

const OnceHeader = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x20-\x7e]{1,200}$/, 'expected 1 to 200 printable ASCII characters')
    .optional()
    .meta({
      description: 'Up to 200 printable ASCII characters, chosen by the caller for this one act.',
      example: 'b7a1c1de-production-key',
    }),
})

const ONE_KEY = {
  answer: z.object({ data: AccountKey }),
  answered: { name: 'AccountKey', examples: { key: { data: key } } },
} as const

export const KEYS = {
  listKeys: defineRead({
    path: '/keys',
    by: 'management key',
    summary: 'Lists the API keys of the account, the newest first; never their secrets.',
    description: `Revoked and expired ones are listed too. ${BY_MANAGEMENT_KEY}`,
    query: pageQuery('Keys', { lastId: key.id }),
    answer: pageOf(AccountKey),
    answered: { name: 'AccountKeys', examples: { last: { data: [key], next_cursor: null } } },
    errors: ['invalid_request', ...MANAGE_ERRORS],
  }),

  createKey: defineChange({
    method: 'POST',
    path: '/keys',
    status: 201,
    by: 'management key',
    summary: 'Makes an API key and shows its secret, once.',
    description:
      `${BY_MANAGEMENT_KEY} ${ONCE} An account has at most 1,000 keys that work, and makes at most 1,000 a day. ` +
      'Unknown properties are refused.',
    headers: OnceHeader,
    body: Limits,
    sent: {
      name: 'NewKeyRequest',
      examples: {
        limited: { name: 'production', limit: 25, limit_reset: 'monthly', requests_per_minute: 600 },
      },
    },
    answer: NewKey,
    answered: { name: 'NewAccountKey', examples: { made: { data: key, key: secret, replayed: false } } },
    errors: ['invalid_request', 'request_too_large', 'key_conflict', ...MANAGE_ERRORS],
  }),

  readAccountKey: defineRead({
    path: '/keys/{id}',
    by: 'management key',
    summary: 'Describes an API key of the account; never its secret.',
    description: BY_MANAGEMENT_KEY,
    params: KeyPath,
    ...ONE_KEY,
    errors: ['key_not_found', ...MANAGE_ERRORS],
  }),

  changeKey: defineChange({
    method: 'PATCH',
    path: '/keys/{id}',
    by: 'management key',
    summary: 'Changes the name, the expiry and the limits of an API key, or disables it.',
    description:
      'Only the given fields change; null removes a limit, the expiry or the name. `limit_reset` belongs to `limit`: given ' +
      `alone, it changes when the present limit begins anew. Unknown properties are refused. ${BY_MANAGEMENT_KEY}`,
    params: KeyPath,
    body: Change,
    sent: {
      name: 'KeyChangeRequest',
      examples: { limit: { limit: 50, expires_at: null }, disabled: { disabled: true } },
    },
    ...ONE_KEY,
    errors: ['invalid_request', 'request_too_large', 'key_not_found', 'key_conflict', ...MANAGE_ERRORS],
  }),

  revokeKey: defineChange({
    method: 'DELETE',
    path: '/keys/{id}',
    by: 'management key',
    summary: 'Revokes an API key, permanently.',
    description:
      'It spends nothing from now on, and is refused within moments; requests that run end as usual. Revoking it again changes ' +
      `nothing. ${BY_MANAGEMENT_KEY}`,
    params: KeyPath,
    answer: z.object({ data: AccountKey, deleted: z.literal(true) }),
    answered: {
      name: 'RevokedKey',
      examples: {
        revoked: {
          data: { ...key, status: 'revoked', revoked_at: '2026-11-22T08:00:00.000Z' },
          deleted: true,
        },
      },
    },
    errors: ['key_not_found', ...MANAGE_ERRORS],
  }),

  rotateKey: defineChange({
    method: 'POST',
    path: '/keys/{id}/rotate',
    status: 201,
    by: 'management key',
    summary: 'Makes a successor of an API key and shows its secret, once.',
    description:
      'The old secret stays valid for `overlap_seconds`. The successor has the name, the expiry and the limits of the old key, ' +
      `under an id of its own: its spend limit counts from zero. ${BY_MANAGEMENT_KEY} ${ONCE}`,
    params: KeyPath,
    headers: OnceHeader,
    body: Rotation,
    sent: { name: 'KeyRotationRequest', examples: { day: { overlap_seconds: 86_400 } } },
    answer: NewKey,
    answered: {
      name: 'NewAccountKey',
      examples: {
        made: {
          data: { ...key, id: '5f0d1a52-7f1b-4d0a-9a1e-2b9a9c1f3c10', rotated_from: key.id },
          key: secret,
          replayed: false,
        },
      },
    },
    errors: ['invalid_request', 'request_too_large', 'key_not_found', 'key_conflict', ...MANAGE_ERRORS],
  }),
}
