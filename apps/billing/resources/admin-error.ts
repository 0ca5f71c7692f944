import type { z } from 'zod'
import type { AdminErrorBody, AdminErrorCode } from '#libs/admin-contract/admin-errors.ts'

/** An error answer of the admin interface: code, message and param are sent to the caller. */
export class AdminError extends Error {
  readonly code: AdminErrorCode
  /** The name of the field that is wrong. */
  readonly param: string | undefined

  constructor(code: AdminErrorCode, message: string, param?: string) {
    super(message)
    this.name = 'AdminError'
    this.code = code
    this.param = param
  }
}

export function toErrorBody({ message, code, param }: AdminError): AdminErrorBody {
  return { error: { message, type: 'api_error', code, ...(param === undefined ? {} : { param }) } }
}

/** Returns the first problem of the request as an error, with the name of its field. */
export function toInvalidRequest(error: z.ZodError): AdminError {
  const issue = error.issues[0]
  if (issue === undefined) return new AdminError('invalid_request', 'The request is not valid.')
  const names = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const param = [...issue.path, ...names].map(String).join('.')
  const problem = names.length > 0 ? 'is not a field of this operation' : issue.message
  return param === ''
    ? new AdminError('invalid_request', problem)
    : new AdminError('invalid_request', `'${param}': ${problem}`, param)
}
