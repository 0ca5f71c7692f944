import type { OperationError } from './operation-description.ts'

/**
 * The errors of every operation that runs a generation. `upstream_error` is not in this list, because only some of
 * these operations have it in the public interface.
 */
export const GENERATION_ERRORS: readonly OperationError[] = [
  'invalid_request',
  'context_length_exceeded',
  'invalid_key',
  'wrong_key',
  'insufficient_credits',
  'model_not_found',
  'request_too_large',
  'model_busy',
  'model_warming',
  'model_unavailable',
]

/** The errors of the operations that count tokens. A count does not wait for a model and starts none. */
export const COUNT_ERRORS = GENERATION_ERRORS.filter((code) => code !== 'model_warming')
