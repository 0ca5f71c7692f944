import type { z } from 'zod'
import type { ApiStyle } from '../http/api-style.ts'
import type { ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { describeParameters } from '#libs/http-contract/describe-parameters.ts'

/** One operation in the description of the interface. */
export type OperationDescription = {
  readonly method: 'get' | 'post' | 'patch' | 'delete'
  /** The path as OpenAPI writes it, with the names of its parameters in braces. */
  readonly path: string
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly parameters: ReturnType<typeof describeParameters>
  readonly request: BodyDescription | null
  /** The answer's status is 200 by default. */
  readonly answer: BodyDescription & { readonly status?: 201 }
  readonly stream: StreamDescription | null
  /**
   * The possible errors. The list is part of the OpenAPI description, and it also changes the answers of the route: if
   * the list lacks `upstream_error`, the client receives `model_unavailable` (503) in place of that error.
   */
  readonly errors: readonly OperationError[]
  /** The field of the request that contains the prompt. */
  readonly promptField?: string
  /** The conventions of the operation's keys and errors; absent: our own. */
  readonly style?: ApiStyle
  /** True if the operation needs no key. */
  readonly isPublic?: boolean
}

/** A row of the error table that an operation can have. */
export type OperationError = Exclude<ApiErrorCode, 'unknown_operation'>

export type BodyDescription = {
  /** The schema's name in the description. */
  readonly name: string
  readonly schema: z.ZodType
  /** Examples by name; the schema accepts each of them. */
  readonly examples: Readonly<Record<string, unknown>>
}

export type StreamDescription = {
  /** The JSON in the data of an event that is not an error. */
  readonly event: BodyDescription
  /** True if events may have an `event:` line. */
  readonly areNamed: boolean
  readonly endsWithDone: boolean
  /** Response headers that only a stream has. */
  readonly headers: Readonly<Record<string, { readonly description: string; readonly schema: z.ZodType }>>
}
