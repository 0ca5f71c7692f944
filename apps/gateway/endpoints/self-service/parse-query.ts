import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'

/** Throws an `ApiError` `invalid_request` that names the first wrong parameter. */
export function parseQuery<Schema extends z.ZodType>(
  schema: Schema,
  request: FastifyRequest,
): z.infer<Schema> {
  const result = schema.safeParse(request.query)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const param = String(issue?.path[0] ?? '')
  throw new ApiError('invalid_request', `'${param}': ${issue?.message ?? 'not valid'}`, { param })
}
