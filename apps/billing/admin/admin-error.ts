import { z } from 'zod'

/** The errors of the operators' interface: our code and its HTTP status. */
export const ADMIN_ERRORS = {
  invalid_request: { status: 400, meaning: 'A field is missing or wrong.' },
  invalid_token: { status: 401, meaning: 'The token is missing, wrong or revoked.' },
  forbidden: { status: 403, meaning: 'The role of this token may not do this.' },
  not_found: { status: 404, meaning: 'There is no such thing.' },
  conflict: { status: 409, meaning: 'It contradicts what is already there.' },
  insufficient_credits: { status: 409, meaning: 'More than the account has available.' },
  request_too_large: { status: 413, meaning: 'The body is too large.' },
  internal_error: { status: 500, meaning: 'It failed inside the service, whose log says why.' },
  unavailable: { status: 503, meaning: 'The database did not answer in time; try again.' },
} as const

export type AdminErrorCode = keyof typeof ADMIN_ERRORS

/** A failure that the operator is told about; `message` and `param` are shown. */
export class AdminError extends Error {
  readonly code: AdminErrorCode
  /** The field that is wrong. */
  readonly param: string | undefined

  constructor(code: AdminErrorCode, message: string, param?: string) {
    super(message)
    this.name = 'AdminError'
    this.code = code
    this.param = param
  }
}

/** The error object of the public interface, with the codes of this one. */
export const AdminErrorBody = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.literal('api_error'),
      code: z.enum(Object.keys(ADMIN_ERRORS)),
      param: z.string().optional().meta({ description: 'The field of the request that is wrong.' }),
    }),
  })
  .meta({ id: 'Error' })
export type AdminErrorBody = z.infer<typeof AdminErrorBody>

export function toErrorBody({ message, code, param }: AdminError): AdminErrorBody {
  return { error: { message, type: 'api_error', code, ...(param === undefined ? {} : { param }) } }
}

/** The first thing that is wrong, with the name of its field. */
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
