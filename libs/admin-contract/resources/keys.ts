import { z } from 'zod'
import {
  AccountId,
  Id,
  KeyId,
  ModelId,
  Name,
  Nano,
  PositiveNano,
  Reason,
  Text,
  Time,
  TimeInput,
} from '../fields.ts'
import { defineChange, defineRead } from '../operation.ts'
import { PAGE, pageOf } from '../list-page.ts'
import { ALL, CUSTOMERS } from '../roles.ts'
import { AccountPath } from './accounts.ts'

/** How many of a secret's first characters are stored and shown: enough to recognize it, too few to use it. */
export const PREFIX_LENGTH = 12

const MAX_OVERLAP_S = 30 * 24 * 60 * 60

const Period = z.enum(['day', 'week', 'month', 'total']).meta({
  description: 'Days, weeks (from Monday) and months begin at midnight UTC; the total never resets.',
})

const PerMinute = z.int().min(1).max(1_000_000_000).meta({ description: 'The most in a minute.' })

/** The limits of a key in a request. Null removes a limit. */
const KeyLimits = z.strictObject({
  name: Name.nullable().optional().meta({ description: 'The purpose of the key.' }),
  expiresAt: TimeInput.nullable().optional().meta({ description: 'When it stops working.' }),
  models: z
    .array(ModelId)
    .min(1)
    .max(100)
    .nullable()
    .optional()
    .meta({ description: 'The only models that it may use.' }),
  spendLimit: z.strictObject({ amountNano: PositiveNano, period: Period }).nullable().optional(),
  requestsPerMinute: PerMinute.nullable().optional(),
  tokensPerMinute: PerMinute.nullable().optional(),
})
export type KeyLimits = z.output<typeof KeyLimits>

const SetByOperator = z.enum([
  'disabled',
  'expiresAt',
  'models',
  'spendLimit',
  'requestsPerMinute',
  'tokensPerMinute',
])

const Limited = KeyLimits.extend({ reason: Reason.optional() })

export const Key = z
  .object({
    id: Id,
    accountId: Id,
    name: z.string().nullable(),
    prefix: z.string().meta({ description: 'The first characters of the secret.' }),
    last4: z.string(),
    status: z.enum(['active', 'disabled', 'revoked', 'expired']),
    expiresAt: Time.nullable(),
    models: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The only models that it may use; null: all.' }),
    spendLimit: z.object({ amountNano: Nano, period: Period }).nullable(),
    requestsPerMinute: z.int().nullable(),
    tokensPerMinute: z.int().nullable(),
    spending: z
      .object({
        periodStart: Time.nullable().meta({ description: 'Null: from the beginning.' }),
        spentNano: Nano,
        heldNano: Nano,
        leftNano: Nano,
      })
      .nullable()
      .meta({ description: 'In the current period of its spend limit; null where it has none.' }),
    lastUsedAt: Time.nullable().meta({ description: 'The newest settlement of one of its requests.' }),
    rotatedFrom: Id.nullable(),
    setByOperator: z.array(SetByOperator).meta({
      description:
        'What an operator has set last: the account’s management keys may narrow it, and neither widen nor undo it.',
    }),
    createdAt: Time,
    revokedAt: Time.nullable(),
  })
  .meta({ id: 'Key' })
export type Key = z.infer<typeof Key>

const NewKey = Key.extend({
  secret: z.string().meta({ description: 'Shown only here; stored as its hash.' }),
}).meta({ id: 'NewKey' })

const KeyPath = z.strictObject({ key: KeyId })

/** The fields shared by the operations that only change the state of a key. */
const STATE = {
  method: 'POST',
  roles: CUSTOMERS,
  params: KeyPath,
  body: z.strictObject({ reason: Reason.optional() }),
  answer: Key,
} as const

export const KEYS = {
  createKey: defineChange({
    method: 'POST',
    path: '/accounts/{account}/keys',
    status: 201,
    summary: 'Creates a key and shows its secret, once.',
    roles: CUSTOMERS,
    params: AccountPath,
    body: Limited,
    answer: NewKey,
    errors: ['not_found', 'conflict'],
  }),

  listKeys: defineRead({
    path: '/keys',
    summary: 'Lists keys, the newest first; never their secrets.',
    roles: ALL,
    query: z.strictObject({
      account: AccountId.optional(),
      prefix: Text.min(1)
        .max(PREFIX_LENGTH)
        .optional()
        .meta({ description: `The start of the secret, at most ${PREFIX_LENGTH} characters.` }),
      last4: Text.length(4).optional().meta({ description: 'The last four characters of the secret.' }),
      ...PAGE,
    }),
    answer: pageOf('KeyPage', Key),
    errors: ['not_found'],
  }),

  readKey: defineRead({
    path: '/keys/{key}',
    summary: 'Shows a key and its spending; never its secret.',
    roles: ALL,
    params: KeyPath,
    answer: Key,
    errors: ['not_found'],
  }),

  changeKey: defineChange({
    method: 'PATCH',
    path: '/keys/{key}',
    summary: 'Changes the name, the expiry and the limits of a key; null removes a limit.',
    description:
      'The account’s management keys may narrow the limits that an operator has set, and neither widen nor remove them.',
    roles: CUSTOMERS,
    params: KeyPath,
    body: Limited.refine(
      ({ reason: _reason, ...limits }) => Object.keys(limits).length > 0,
      'give at least one field to change',
    ),
    answer: Key,
    errors: ['not_found', 'conflict'],
  }),

  rotateKey: defineChange({
    method: 'POST',
    path: '/keys/{key}/rotate',
    status: 201,
    summary: 'Creates a successor and shows its secret, once; the old secret stays valid for overlapSeconds.',
    description:
      'The successor has the name, the expiry and the limits of the old key, under an id of its own: its spend limit counts from zero.',
    roles: CUSTOMERS,
    params: KeyPath,
    body: z.strictObject({
      overlapSeconds: z
        .int()
        .min(0)
        .max(MAX_OVERLAP_S)
        .meta({ description: 'How long the old secret stays valid.' }),
      reason: Reason.optional(),
    }),
    answer: NewKey,
    errors: ['not_found', 'conflict'],
  }),

  disableKey: defineChange({
    ...STATE,
    path: '/keys/{key}/disable',
    summary: 'Disables a key until an operator enables it again.',
    errors: ['not_found', 'conflict'],
  }),

  enableKey: defineChange({
    ...STATE,
    path: '/keys/{key}/enable',
    summary: 'Enables a disabled key.',
    errors: ['not_found', 'conflict'],
  }),

  revokeKey: defineChange({
    ...STATE,
    path: '/keys/{key}/revoke',
    summary:
      'Revokes a key permanently: it spends nothing from now on, and gateways refuse it within moments.',
    description:
      'What operators had set on it does not bind the account any more, also where the account itself had revoked it.',
    errors: ['not_found'],
  }),
}
