// The module of a thread that prepares large bodies. A task has the bytes of a body; its outcome is a prepared request
// or a refusal.
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { serveTasks } from '#libs/threads/serve-tasks.ts'
import { compileSchemaChecks } from './fields/check-schema.ts'
import { PREPARATIONS } from './preparations.ts'
import { prepareBody } from './prepare-request.ts'
import type { ReasoningKeys } from './responses/sealed-reasoning.ts'

export type BodyTask = {
  /** The preparation's index in `PREPARATIONS`. */
  readonly preparation: number
  readonly body: ArrayBuffer
  /** The catalog that the caller may see now. */
  readonly models: readonly ModelSpec[]
  /** The ids of the models whose conversations have seats. */
  readonly seated: readonly string[]
  readonly reasoningKeys: ReasoningKeys
}

/** An `ApiError` is sent as its fields, because a class instance loses its class on the way between threads. */
export type BodyOutcome<Result> =
  | { readonly status: 'prepared'; readonly prepared: Result }
  | {
      readonly status: 'refused'
      readonly code: ApiErrorCode
      readonly message: string
      readonly param: string | undefined
    }

compileSchemaChecks()

serveTasks(({ preparation, body, models, ...task }: BodyTask): BodyOutcome<unknown> => {
  const prepare = PREPARATIONS[preparation]
  if (prepare === undefined) throw new Error(`there is no preparation ${preparation}`)
  const context = { find: (id: string) => models.find((model) => model.id === id) ?? null, ...task }
  try {
    return { status: 'prepared', prepared: prepareBody(prepare, Buffer.from(body), context) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, message, param } = error
    return { status: 'refused', code, message, param }
  }
})
