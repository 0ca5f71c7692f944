import { API_ERRORS } from '#libs/contracts/api-error.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import { LARGEST_BODY_BYTES } from '#libs/contracts/largest-body-bytes.ts'
import { toReference } from '#libs/http-contract/describe-document.ts'
import type { OperationError } from '../endpoints/operation-description.ts'
import type { ApiStyle } from '../http/api-style.ts'
import { toTooLargeMessage, type ErrorBody } from '../http/handle-error.ts'
import { toMessagesError } from '../http/messages-error.ts'
import { headersOf, WAITED_ANSWER } from './common-headers.ts'

/** The meaning and an example message of each error. */
const ROWS: Readonly<Record<OperationError, { meaning: string; message: string }>> = {
  invalid_request: { meaning: 'A field is missing or wrong.', message: "'model' is required." },
  context_length_exceeded: {
    meaning: 'The prompt does not fit the model’s context window.',
    message: toOverflowMessage({ contextWindow: 32_768, tokens: 40_000 }),
  },
  request_too_large: {
    meaning: 'The body is too large.',
    message: toTooLargeMessage(LARGEST_BODY_BYTES),
  },
  invalid_key: { meaning: 'The API key is missing or not valid.', message: 'The API key is not valid.' },
  wrong_key: {
    meaning: 'The key is of the other kind: API keys run requests, management keys manage API keys.',
    message: 'This is a management key: it manages the API keys of its account and can run no request.',
  },
  insufficient_credits: {
    meaning: 'The account does not have enough credits for this request.',
    message: 'Not enough credits.',
  },
  model_not_found: {
    meaning: 'The model does not exist, or does not support this operation.',
    message: "Unknown model 'nope'",
  },
  generation_not_found: {
    meaning:
      'This API key, or the account of this management key, has made no such request, or it is archived.',
    message: 'There is no request with this id.',
  },
  key_not_found: {
    meaning: 'The account has no such API key.',
    message: 'There is no key with this id.',
  },
  key_conflict: {
    meaning: 'The change contradicts the state of the API key or of the account, or an earlier request.',
    message: 'The key is revoked, and a revocation is permanent.',
  },
  model_busy: { meaning: 'The model is busy; try again later.', message: 'The model is busy.' },
  model_warming: {
    meaning: 'The model is starting; try again later, or ask to wait with prefer.',
    message: 'The model is warming.',
  },
  upstream_error: {
    meaning: 'The model’s backend failed. Not charged within the free tokens of the hour.',
    message: 'The model’s output was interrupted.',
  },
  model_unavailable: {
    meaning: 'The gateway or the model is unavailable; try again later.',
    message: 'The model is unavailable.',
  },
}

/** The errors with which a request may end that has waited for its model. */
const AFTER_WAIT: ReadonlySet<OperationError> = new Set([
  'invalid_request',
  'context_length_exceeded',
  'insufficient_credits',
  'model_busy',
  'model_warming',
  'upstream_error',
  'model_unavailable',
])

/** The name of the response component for an HTTP status in a style. */
export function toErrorName(status: number, style?: ApiStyle): string {
  return `${errorSchemaOf(style)}${status}`
}

/** The name of the schema of errors in a style. */
export function errorSchemaOf(style?: ApiStyle): 'Error' | 'MessagesError' {
  return style === undefined ? 'Error' : 'MessagesError'
}

/** Returns OpenAPI response objects by name, one for each HTTP status. */
export function describeErrors(
  errors: ReadonlySet<OperationError>,
  style?: ApiStyle,
): Record<string, object> {
  const statuses = Map.groupBy(errors, (code) => API_ERRORS[code].status)
  return Object.fromEntries(
    [...statuses].map(([status, codes]) => [
      toErrorName(status, style),
      describeStatus(status, codes, style),
    ]),
  )
}

function describeStatus(status: number, codes: readonly OperationError[], style?: ApiStyle) {
  const wireCodes = new Set(codes.map((code) => API_ERRORS[code].wireCode))
  const retryAfter = codes.every((code) => API_ERRORS[code].retryAfter)
  return {
    description: codes.map((code) => ROWS[code].meaning).join(' Or: '),
    headers: {
      ...headersOf(style),
      ...(codes.some((code) => AFTER_WAIT.has(code)) ? WAITED_ANSWER : {}),
      ...(status === 401 ? { 'www-authenticate': { $ref: '#/components/headers/Authenticate' } } : {}),
      ...(retryAfter ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: toReference(errorSchemaOf(style)) },
            { properties: { error: { properties: { code: { enum: [...wireCodes] } } } } },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: toExample(code, style) }])),
      },
    },
  }
}

function toExample(code: OperationError, style?: ApiStyle): object {
  const { status, wireCode } = API_ERRORS[code]
  const body: ErrorBody = { error: { message: ROWS[code].message, type: 'api_error', code: wireCode } }
  return style === undefined ? body : toMessagesError(body, { requestId: EXAMPLE_ID, status })
}

const EXAMPLE_ID = '0199aaaa-0000-7000-8000-000000000000'
