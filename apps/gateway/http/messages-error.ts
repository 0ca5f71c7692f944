import { z } from 'zod'
import type { ErrorBody } from './handle-error.ts'

/** The types of errors of Anthropic's interface, by the codes of this service. */
const TYPES = {
  invalid_request: 'invalid_request_error',
  context_length_exceeded: 'invalid_request_error',
  invalid_key: 'authentication_error',
  wrong_key: 'permission_error',
  insufficient_credits: 'billing_error',
  model_not_found: 'not_found_error',
  model_busy: 'rate_limit_error',
  model_warming: 'rate_limit_error',
  upstream_error: 'api_error',
  model_unavailable: 'overloaded_error',
} as const satisfies Record<ErrorBody['error']['code'], string>

const TOO_LARGE = 'request_too_large'
/** The statuses whose errors have a type of their own, although their code is `invalid_request`. */
const OF_STATUS = new Map<number, MessagesErrorBody['error']['type']>([
  [404, 'not_found_error'],
  [413, TOO_LARGE],
])

/** The error object of Anthropic's interface, with the code and the field of this service. */
export const MessagesErrorBody = z.object({
  type: z.literal('error'),
  error: z.object({
    type: z.enum([...new Set(Object.values(TYPES)), TOO_LARGE]),
    message: z.string(),
    code: z.string(),
    param: z.string().optional().meta({ description: 'The field of the request that is wrong.' }),
  }),
  request_id: z.string(),
})
type MessagesErrorBody = z.infer<typeof MessagesErrorBody>

/** Returns an error in the shape of Anthropic's interface. `status` is absent for an error within a stream. */
export function toMessagesError(
  { error: { code, message, param } }: ErrorBody,
  { requestId, status }: { readonly requestId: string; readonly status?: number },
): MessagesErrorBody {
  return {
    type: 'error',
    error: {
      type: status === undefined ? TYPES[code] : (OF_STATUS.get(status) ?? TYPES[code]),
      message,
      code,
      ...(param !== undefined && { param }),
    },
    request_id: requestId,
  }
}
