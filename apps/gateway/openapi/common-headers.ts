import type { ApiStyle } from '../http/api-style.ts'
import { RETRY_AFTER_RANGE_S } from '../retry-after.ts'

/** Returns the headers of every response in a style. */
export function headersOf(style: ApiStyle | undefined) {
  const id = { $ref: '#/components/headers/RequestId' }
  return {
    'x-request-id': id,
    'x-client-request-id': { $ref: '#/components/headers/ClientRequestId' },
    ...(style === 'anthropic' && { 'request-id': id }),
  }
}

/** The headers of a request that may wait for a model that is being started. */
export const START_WAIT_PARAMETERS = [
  { $ref: '#/components/parameters/Prefer' },
  { $ref: '#/components/parameters/WaitForModel' },
]

/** The header of every answer to a request that has waited for its model, also of an error. */
export const WAITED_ANSWER = { 'preference-applied': { $ref: '#/components/headers/PreferenceApplied' } }

/** The OpenAPI components of common request and response headers. */
export const COMMON_HEADERS = {
  parameters: {
    RequestId: {
      name: 'x-request-id',
      in: 'header',
      required: false,
      description:
        'The caller’s own id for the request: up to 128 printable ASCII characters without spaces. The response repeats it as x-client-request-id. Other values are ignored.',
      schema: { type: 'string' },
    },
    Prefer: {
      name: 'prefer',
      in: 'header',
      required: false,
      description:
        'wait=N (RFC 7240): if the model is being started, the request waits up to N seconds for a worker instead of being refused with model_warming. If N is more than the service allows, the longest allowed wait applies. Other preferences and other values are ignored.',
      schema: { type: 'string' },
      example: 'wait=120',
    },
    WaitForModel: {
      name: 'x-wait-for-model',
      in: 'header',
      required: false,
      description:
        'With 1 or true the request waits as with prefer, for the longest time that the service allows. Ignored if prefer has a wait.',
      schema: { type: 'string' },
      example: '1',
    },
  },
  headers: {
    RequestId: {
      description: 'The id of the request. Quote it when you report a problem.',
      required: true,
      schema: { type: 'string', format: 'uuid' },
    },
    ClientRequestId: {
      description: 'The x-request-id of the request, if it is well-formed.',
      schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
    },
    Authenticate: {
      description: 'The scheme of the authorization header.',
      required: true,
      schema: { const: 'Bearer' },
    },
    PreferenceApplied: {
      description: 'The request waited for its model to start, for at most so many seconds.',
      schema: { type: 'string', pattern: '^wait=[1-9][0-9]*$' },
    },
    RetryAfter: {
      description: 'Whole seconds to wait before the next try.',
      required: true,
      schema: { type: 'integer', minimum: RETRY_AFTER_RANGE_S.min, maximum: RETRY_AFTER_RANGE_S.max },
    },
  },
}
