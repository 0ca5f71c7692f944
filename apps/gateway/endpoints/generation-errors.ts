import type { OperationError } from './operation-description.ts'

/** What every operation that runs a generation can answer with. */
export const GENERATION_ERRORS: readonly OperationError[] = [
  'invalid_request',
  'invalid_key',
  'insufficient_credits',
  'model_not_found',
  'request_too_large',
  'model_busy',
  'model_warming',
  'model_unavailable',
]
