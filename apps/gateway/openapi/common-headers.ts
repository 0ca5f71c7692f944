/** Response headers of every answer. */
export const EVERY_ANSWER = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'x-client-request-id': { $ref: '#/components/headers/ClientRequestId' },
}

/** The components that operations and answers refer to for the headers they share. */
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
      description: 'Our id of the request; name it when something went wrong.',
      required: true,
      schema: { type: 'string', format: 'uuid' },
    },
    ClientRequestId: {
      description: 'The caller’s own x-request-id, where it was well-formed.',
      schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,128}$' },
    },
    Authenticate: {
      description: 'The scheme that a key is told in.',
      required: true,
      schema: { const: 'Bearer' },
    },
    RetryAfter: {
      description: 'Whole seconds to wait before the next try.',
      required: true,
      schema: { type: 'integer', minimum: 1, maximum: 59 },
    },
  },
}
