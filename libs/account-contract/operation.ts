import type { ApiErrorCode } from '#libs/contracts/api-error.ts'
import { defineOperations, type ChangeOperation, type ReadOperation } from '#libs/http-contract/operation.ts'

export type { AnswerOf } from '#libs/http-contract/operation.ts'

/** The name of a body in the OpenAPI description, and examples that its schema accepts. */
type Body = { readonly name: string; readonly examples: Readonly<Record<string, unknown>> }

/** The codes of the errors that an operation can answer with. */
type Code = Exclude<ApiErrorCode, 'unknown_operation'>

type Own = {
  readonly description: string
  /** Who may call the operation: an API key or a management key (`any key`), or a management key alone. */
  readonly by: 'any key' | 'management key'
  readonly answered: Body
  /** The body of the request, if the operation has one. */
  readonly sent?: Body
}

/**
 * An operation that keys may call. Its schemas accept their own results: a parsed request may be parsed again and stays
 * the same.
 */
export type AccountOperation = (ReadOperation<Code> | ChangeOperation<Code>) & Own

export const { defineRead, defineChange } = defineOperations<Code, Own>()

/** The errors of every operation that any key may call. */
export const READ_ERRORS = ['invalid_key', 'model_busy', 'model_unavailable'] as const

/** The errors of every operation that only management keys may call. */
export const MANAGE_ERRORS = ['invalid_key', 'wrong_key', 'model_busy', 'model_unavailable'] as const

export const FREE =
  'Costs nothing, and is answered without credits and beyond every limit and rate of generations. A key may read once a ' +
  'second, after a burst of ten; the same question gets the same answer for a second.'

export const BY_MANAGEMENT_KEY =
  'Needs a management key (`mr_manage_…`), which an operator makes; a management key can never spend. A management key may ' +
  'ask once a second, after a burst of ten.'
