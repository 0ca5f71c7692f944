import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { z } from 'zod'
import type { KeyManagement } from '#libs/billing-client/key-management.ts'
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { AccountKey__Output } from '#proto/types/millrace/billing/AccountKey.ts'
import type { KeyRefusal__Output } from '#proto/types/millrace/billing/KeyRefusal.ts'
import type { ManageKeyRequest } from '#proto/types/millrace/billing/ManageKeyRequest.ts'
import type { ManageKeyResponse__Output } from '#proto/types/millrace/billing/ManageKeyResponse.ts'
import type { JsonObject } from '#libs/json-schema/json-schema.ts'
import type { Manager } from '../../callers/caller.ts'
import { parseBody, readJsonObject } from '../../http/parse-body.ts'
import { explainFailure } from './explain-failure.ts'
import { KeyChangeBody, NewKeyBody, RotationBody, type NewKeyAnswer } from './key-schemas.ts'
import { parseQuery } from './parse-query.ts'
import type { SpendRead } from './share-reads.ts'
import { toAccountKey, toSettings } from './to-account-key.ts'

/** A body has a few names and numbers, and up to 100 ids of models. */
export const KEY_BODY_BYTES = 64 * 1024

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,200}$/

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(50).default(50),
  cursor: z
    .string()
    .regex(/^\d{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    .optional(),
})

/** What the account does with its API keys by a management key: `/v1/keys`. */
export function manageKeys(deps: {
  management: Pick<KeyManagement, 'listAccountKeys' | 'manageKey'>
  managerOf: (request: FastifyRequest) => Manager
  spend: SpendRead
}): Record<'list' | 'create' | 'read' | 'change' | 'revoke' | 'rotate', RouteHandlerMethod> {
  const { management, spend } = deps

  /** Each request counts: a change is made, or a secret is shown. */
  function managementKeyOf(request: FastifyRequest): string {
    const { managementKeyId } = deps.managerOf(request)
    spend({ managementKeyId })
    return managementKeyId
  }

  async function manage(request: FastifyRequest, act: ManageKeyRequest): Promise<Made> {
    const managementKeyId = managementKeyOf(request)
    const answer = await management.manageKey({ ...act, managementKeyId }).catch((error: unknown) => {
      throw explainFailure(error, NOT_ANSWERED)
    })
    const { key, refusal } = answer
    if (refusal !== null) throw toApiError(refusal)
    if (key === null) throw new Error('billing answered without a key')
    return { ...answer, key }
  }

  return {
    async list(request) {
      const { limit, cursor = '' } = parseQuery(Page, request)
      const page = { managementKeyId: managementKeyOf(request), limit, cursor }
      const answer = await management.listAccountKeys(page).catch((error: unknown) => {
        throw explainFailure(error, NOT_ANSWERED)
      })
      const next = answer.nextCursor
      return { data: answer.keys.map(toAccountKey), next_cursor: next === '' ? null : next }
    },

    async create(request, reply) {
      const settings = toSettings(withoutNulls(parseBody(NewKeyBody, readJsonObject(request.body))))
      const idempotencyKey = readIdempotencyKey(request)
      return sendNew(reply, await manage(request, { create: settings, idempotencyKey }))
    },

    async read(request) {
      const { key } = await manage(request, { keyId: readId(request), read: {} })
      return { data: toAccountKey(key) }
    },

    async change(request) {
      const keyId = readId(request)
      const body = parseBody(KeyChangeBody, assertAny(readJsonObject(request.body)))
      const { key } = await manage(request, { keyId, change: toSettings(body) })
      return { data: toAccountKey(key) }
    },

    async revoke(request) {
      const { key } = await manage(request, { keyId: readId(request), revoke: {} })
      return { data: toAccountKey(key), deleted: true }
    },

    async rotate(request, reply) {
      const keyId = readId(request)
      const body = parseBody(RotationBody, readJsonObject(request.body))
      const rotate = { overlapSeconds: body.overlap_seconds }
      const idempotencyKey = readIdempotencyKey(request)
      return sendNew(reply, await manage(request, { keyId, rotate, idempotencyKey }))
    },
  }
}

type Made = ManageKeyResponse__Output & { readonly key: AccountKey__Output }

const NOT_ANSWERED =
  'Keys cannot be managed at the moment. It is not known whether a change was made: repeat it with the same idempotency-key.'

/** The secret is in no cache. */
function sendNew(reply: FastifyReply, { key, secret, replayed }: Made): FastifyReply {
  const answer: NewKeyAnswer = { data: toAccountKey(key), key: secret === '' ? null : secret, replayed }
  return reply.code(201).header('cache-control', 'no-store').send(answer)
}

/** In a new key there is nothing to remove: null is the same as absent. */
function withoutNulls(body: z.infer<typeof NewKeyBody>): z.infer<typeof NewKeyBody> {
  const { limit, limit_reset: reset, ...rest } = body
  return { ...rest, ...(limit != null && { limit }), ...(reset != null && { limit_reset: reset }) }
}

function assertAny(body: JsonObject): JsonObject {
  if (Object.keys(body).length > 0) return body
  throw new ApiError('invalid_request', 'Give at least one field to change.')
}

/** Throws for an id that no key can have in the words for an unknown one. */
function readId({ params }: FastifyRequest): string {
  const id = typeof params === 'object' && params !== null && 'id' in params ? String(params.id) : ''
  if (UUID.test(id)) return id.toLowerCase()
  throw new ApiError('key_not_found', 'There is no key with this id.')
}

/** Empty: none. */
function readIdempotencyKey({ headers }: FastifyRequest): string {
  const given = headers['idempotency-key']
  if (given === undefined) return ''
  if (typeof given === 'string' && IDEMPOTENCY_KEY.test(given)) return given
  throw new ApiError('invalid_request', "'idempotency-key': expected 1 to 200 printable ASCII characters.", {
    param: 'idempotency-key',
  })
}

const CODES: Readonly<Record<KeyRefusal__Output['reason'], ApiErrorCode>> = {
  NOT_FOUND: 'key_not_found',
  CONFLICT: 'key_conflict',
  INVALID: 'invalid_request',
  UNSPECIFIED: 'upstream_error',
}

/** The names of the admin interface, and what they are here. */
const FIELDS: Readonly<Record<string, string>> = {
  expiresAt: 'expires_at',
  spendLimit: 'limit',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
}

function toApiError({ reason, message, param: given }: KeyRefusal__Output): ApiError {
  if (given === '') return new ApiError(CODES[reason], message)
  const field = given.split('.')[0] ?? given
  const param = FIELDS[field] ?? field
  const problem = message.replace(/^'[^']*': /, '')
  return new ApiError(CODES[reason], `'${param}': ${problem}.`, { param })
}
