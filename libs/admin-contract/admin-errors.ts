import { z } from 'zod'

/** The errors of the admin interface: code, HTTP status and meaning. */
export const ADMIN_ERRORS = {
  invalid_request: { status: 400, meaning: 'A field is missing or wrong.' },
  invalid_token: { status: 401, meaning: 'The token is missing, wrong or revoked.' },
  forbidden: { status: 403, meaning: 'The role of this token may not do this.' },
  stale_session: { status: 403, meaning: 'The session is too old for this: sign in again.' },
  not_found: { status: 404, meaning: 'The resource does not exist.' },
  conflict: { status: 409, meaning: 'The request contradicts the current state.' },
  insufficient_credits: { status: 409, meaning: 'The amount is more than the account has available.' },
  archived: { status: 410, meaning: 'It is in an archived month: the message names it.' },
  request_too_large: { status: 413, meaning: 'The body is too large.' },
  internal_error: { status: 500, meaning: 'The service failed; its log has the cause.' },
  unavailable: { status: 503, meaning: 'The database did not answer in time; try again.' },
} as const

export type AdminErrorCode = keyof typeof ADMIN_ERRORS

/** The body of an error: the error object of the public interface, with the codes of the admin interface. */
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
