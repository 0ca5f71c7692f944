import { z } from 'zod'
import type { OperationDescription, OperationError } from '../operation-description.ts'
import {
  AccountKeyAnswer,
  AccountKeysAnswer,
  KeyChangeBody,
  NewKeyAnswer,
  NewKeyBody,
  RevokedKeyAnswer,
  RotationBody,
  type AccountKey,
} from './key-schemas.ts'

const ERRORS: readonly OperationError[] = ['invalid_key', 'wrong_key', 'model_busy', 'model_unavailable']

const BY_MANAGEMENT_KEY =
  'Needs a management key (`mr_manage_…`), which an operator makes; a management key can never spend. A management key may ' +
  'ask once a second, after a burst of ten.'

const ONCE =
  'Requests of the account with the same `idempotency-key` make one key: a repeated one is answered with `replayed: true` ' +
  'and without the secret, for 30 days.'

const key: AccountKey = {
  id: '8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77',
  label: 'mr_live_mcHg…cCRh',
  name: 'production',
  status: 'active',
  disabled: false,
  usage: 18.4,
  usage_daily: 0.9,
  usage_weekly: 4.2,
  usage_monthly: 18.4,
  limit: 25,
  limit_remaining: 6.6,
  limit_reset: 'monthly',
  expires_at: null,
  models: ['demo-chat'],
  requests_per_minute: 600,
  tokens_per_minute: null,
  created_at: '2026-11-01T09:00:00.000Z',
  last_used_at: '2026-11-21T17:13:12.001Z',
  revoked_at: null,
  rotated_from: null,
  nano: {
    usage: '18400000000',
    usage_daily: '900000000',
    usage_weekly: '4200000000',
    usage_monthly: '18400000000',
    limit: '25000000000',
    limit_remaining: '6600000000',
  },
}

const secret = 'mr_live_4cFhqWJpZ0s7XbD2nVtYkGmRuLe8AaQoC1xCRh'

const idParameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of a key of the account.',
  schema: z.uuid(),
  example: key.id,
} as const

const onceParameter = {
  name: 'idempotency-key',
  in: 'header',
  required: false,
  description: 'Up to 200 printable ASCII characters, chosen by the caller for this one act.',
  schema: z.string().regex(/^[\x20-\x7e]{1,200}$/),
  example: 'b7a1c1de-production-key',
} as const

export const listKeysDescription: OperationDescription = {
  method: 'get',
  path: '/v1/keys',
  id: 'listKeys',
  summary: 'Lists the API keys of the account, the newest first; never their secrets.',
  description: `Revoked and expired ones are listed too. ${BY_MANAGEMENT_KEY}`,
  parameters: [
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'Keys of a page.',
      schema: z.int().min(1).max(50).default(50),
      example: 50,
    },
    {
      name: 'cursor',
      in: 'query',
      required: false,
      description: '`next_cursor` of the page before.',
      schema: z.string(),
      example: '1795281192001000-8a3a1f9c-1f55-4c0e-8f6e-6d8a2b1c9e77',
    },
  ],
  request: null,
  answer: {
    name: 'AccountKeys',
    schema: AccountKeysAnswer,
    examples: { last: { data: [key], next_cursor: null } },
  },
  stream: null,
  errors: ['invalid_request', ...ERRORS],
}

export const createKeyDescription: OperationDescription = {
  method: 'post',
  path: '/v1/keys',
  id: 'createKey',
  summary: 'Makes an API key and shows its secret, once.',
  description:
    `${BY_MANAGEMENT_KEY} ${ONCE} An account has at most 1,000 keys that work, and makes at most 1,000 a day. ` +
    'Unknown properties are refused.',
  parameters: [onceParameter],
  request: {
    name: 'NewKeyRequest',
    schema: NewKeyBody,
    examples: {
      limited: { name: 'production', limit: 25, limit_reset: 'monthly', requests_per_minute: 600 },
    },
  },
  answer: {
    name: 'NewAccountKey',
    schema: NewKeyAnswer,
    examples: { made: { data: key, key: secret, replayed: false } },
    status: 201,
  },
  stream: null,
  errors: ['invalid_request', 'request_too_large', 'key_conflict', ...ERRORS],
}

export const readAccountKeyDescription: OperationDescription = {
  method: 'get',
  path: '/v1/keys/{id}',
  id: 'readAccountKey',
  summary: 'Describes an API key of the account; never its secret.',
  description: BY_MANAGEMENT_KEY,
  parameters: [idParameter],
  request: null,
  answer: { name: 'AccountKey', schema: AccountKeyAnswer, examples: { key: { data: key } } },
  stream: null,
  errors: ['key_not_found', ...ERRORS],
}

export const changeKeyDescription: OperationDescription = {
  method: 'patch',
  path: '/v1/keys/{id}',
  id: 'changeKey',
  summary: 'Changes the name, the expiry and the limits of an API key, or disables it.',
  description:
    'Only the given fields change; null removes a limit, the expiry or the name. `limit_reset` belongs to `limit`: given ' +
    `alone, it changes when the present limit begins anew. Unknown properties are refused. ${BY_MANAGEMENT_KEY}`,
  parameters: [idParameter],
  request: {
    name: 'KeyChangeRequest',
    schema: KeyChangeBody,
    examples: { limit: { limit: 50, expires_at: null }, disabled: { disabled: true } },
  },
  answer: { name: 'AccountKey', schema: AccountKeyAnswer, examples: { key: { data: key } } },
  stream: null,
  errors: ['invalid_request', 'request_too_large', 'key_not_found', 'key_conflict', ...ERRORS],
}

export const revokeKeyDescription: OperationDescription = {
  method: 'delete',
  path: '/v1/keys/{id}',
  id: 'revokeKey',
  summary: 'Revokes an API key, permanently.',
  description:
    'It spends nothing from now on, and is refused within moments; requests that run end as usual. Revoking it again changes ' +
    `nothing. ${BY_MANAGEMENT_KEY}`,
  parameters: [idParameter],
  request: null,
  answer: {
    name: 'RevokedKey',
    schema: RevokedKeyAnswer,
    examples: {
      revoked: {
        data: { ...key, status: 'revoked', revoked_at: '2026-11-22T08:00:00.000Z' },
        deleted: true,
      },
    },
  },
  stream: null,
  errors: ['key_not_found', ...ERRORS],
}

export const rotateKeyDescription: OperationDescription = {
  method: 'post',
  path: '/v1/keys/{id}/rotate',
  id: 'rotateKey',
  summary: 'Makes a successor of an API key and shows its secret, once.',
  description:
    'The old secret stays valid for `overlap_seconds`. The successor has the name, the expiry and the limits of the old key, ' +
    `under an id of its own: its spend limit counts from zero. ${BY_MANAGEMENT_KEY} ${ONCE}`,
  parameters: [idParameter, onceParameter],
  request: {
    name: 'KeyRotationRequest',
    schema: RotationBody,
    examples: { day: { overlap_seconds: 86_400 } },
  },
  answer: {
    name: 'NewAccountKey',
    schema: NewKeyAnswer,
    examples: {
      made: {
        data: { ...key, id: '5f0d1a52-7f1b-4d0a-9a1e-2b9a9c1f3c10', rotated_from: key.id },
        key: secret,
        replayed: false,
      },
    },
    status: 201,
  },
  stream: null,
  errors: ['invalid_request', 'request_too_large', 'key_not_found', 'key_conflict', ...ERRORS],
}
