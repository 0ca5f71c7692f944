import type { Dialect } from '../http/dialect.ts'
import { RETRY_AFTER_RANGE_S } from '../retry-after.ts'

/** Returns the headers of every response in a dialect. */
export function headersOf(dialect: Dialect | undefined) {
  const id = { $ref: '#/components/headers/RequestId' }
  return {
    'x-request-id': id,
    'x-client-request-id': { $ref: '#/components/headers/ClientRequestId' },
    ...(dialect === 'anthropic' && { 'request-id': id }),
  }
}

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
    RetryAfter: {
      description: 'Whole seconds to wait before the next try.',
      required: true,
      schema: { type: 'integer', minimum: RETRY_AFTER_RANGE_S.min, maximum: RETRY_AFTER_RANGE_S.max },
    },
  },
}
