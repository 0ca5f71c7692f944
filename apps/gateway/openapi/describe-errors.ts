import { API_ERRORS } from '#libs/contracts/api-error.ts'
import { MAX_BODY_BYTES } from '#libs/contracts/max-body-bytes.ts'
import type { OperationError } from '../endpoints/operation-description.ts'
import { toTooLargeMessage, type ErrorBody } from '../http/handle-error.ts'
import { EVERY_ANSWER } from './common-headers.ts'

/** For each row of the error table: its meaning, and a message as an example. */
const ROWS: Readonly<Record<OperationError, { meaning: string; message: string }>> = {
  invalid_request: { meaning: 'A field is missing or wrong.', message: "'model' is required." },
  request_too_large: {
    meaning: 'The body is too large.',
    message: toTooLargeMessage(MAX_BODY_BYTES),
  },
  invalid_key: { meaning: 'The API key is missing or not valid.', message: 'The API key is not valid.' },
  insufficient_credits: {
    meaning: 'The credits do not pay for this request.',
    message: 'Not enough credits.',
  },
  model_not_found: {
    meaning: 'There is no such model, or it cannot do this.',
    message: "Unknown model 'nope'",
  },
  model_busy: { meaning: 'The model is busy; try again later.', message: 'The model is busy.' },
  model_warming: { meaning: 'The model is warming; try again later.', message: 'The model is warming.' },
  upstream_error: {
    meaning: 'The model’s backend failed; nothing is charged.',
    message: 'The model’s output was interrupted.',
  },
  model_unavailable: {
    meaning: 'The gateway or the model is unavailable; try again later.',
    message: 'The model is unavailable.',
  },
}

/** The name of a status's answer in the description. */
export function toErrorName(status: number): string {
  return `Error${status}`
}

/** The error table as OpenAPI's response objects, one for each status. */
export function describeErrors(errors: ReadonlySet<OperationError>): Record<string, object> {
  const statuses = Map.groupBy(errors, (code) => API_ERRORS[code].status)
  return Object.fromEntries(
    [...statuses].map(([status, codes]) => [toErrorName(status), describeStatus(status, codes)]),
  )
}

function describeStatus(status: number, codes: readonly OperationError[]) {
  const wireCodes = new Set(codes.map((code) => API_ERRORS[code].wireCode))
  const retryAfter = codes.every((code) => API_ERRORS[code].retryAfter)
  return {
    description: codes.map((code) => ROWS[code].meaning).join(' Or: '),
    headers: {
      ...EVERY_ANSWER,
      ...(status === 401 ? { 'www-authenticate': { $ref: '#/components/headers/Authenticate' } } : {}),
      ...(retryAfter ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } } : {}),
    },
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Error' },
            { properties: { error: { properties: { code: { enum: [...wireCodes] } } } } },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: toExample(code) }])),
      },
    },
  }
}

function toExample(code: OperationError): ErrorBody {
  return { error: { message: ROWS[code].message, type: 'api_error', code: API_ERRORS[code].wireCode } }
}
