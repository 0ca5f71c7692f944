import { RETRY_AFTER_RANGE_S } from '../retry-after.ts'

/** Response headers of every answer. */
export const EVERY_ANSWER = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'x-client-request-id': { $ref: '#/components/headers/ClientRequestId' },
}

/** The components for the headers that operations and answers share. */
export const COMMON_HEADERS = {
  parameters: {
    RequestId: {
      name: 'x-request-id',
      in: 'header',
      required: false,
      description:
        'The caller’s own id of the request: up to 128 printable characters without spaces. It comes back as x-client-request-id; any other value is ignored.',
      schema: { type: 'string' },
    },
  },
  headers: {
    RequestId: {
      description: 'The id of the request; quote it when you report a problem.',
      required: true,
      schema: { type: 'string', format: 'uuid' },
    },
    ClientRequestId: {
      description: 'The caller’s own x-request-id, if it is well-formed.',
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
