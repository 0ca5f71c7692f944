import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { AccountOperation } from '#libs/account-contract/operation.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Asked } from '#libs/http-contract/parse-asked.ts'
import { parseBody, readJsonObject } from '../../http/parse-body.ts'

/**
 * Returns the parts of a request that its operation uses, validated. Unknown parameters are ignored. Throws an
 * `ApiError` that names the first wrong field.
 */
export function readAsked(operation: AccountOperation, request: FastifyRequest): Asked {
  const hasBody = operation.sent !== undefined
  return {
    params: operation.params.parse(request.params),
    query: parseQuery(operation.query, request.query),
    body: hasBody ? parseBody(operation.body, readJsonObject(request.body)) : {},
    headers: parseBody(operation.headers, pick(request.headers, operation.headers)),
  }
}

/** Throws an `ApiError` `invalid_request` that names the first wrong parameter. */
function parseQuery(schema: z.ZodObject, query: unknown): unknown {
  const result = schema.safeParse(pick(query, schema))
  if (result.success) return result.data
  const [issue] = result.error.issues
  const param = String(issue?.path[0] ?? '')
  throw new ApiError('invalid_request', `'${param}': ${issue?.message ?? 'not valid'}`, { param })
}

function pick(given: unknown, { shape }: z.ZodObject): Record<string, unknown> {
  const names = Object.entries(typeof given === 'object' && given !== null ? given : {})
  return Object.fromEntries(names.filter(([name]) => Object.hasOwn(shape, name)))
}
