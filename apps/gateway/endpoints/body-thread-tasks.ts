// The module of the thread that prepares large bodies: a body's bytes in, a prepared request or a refusal out.
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { serveTasks } from '#libs/threads/serve-tasks.ts'
import { compileSchemaChecks } from './fields/check-schema.ts'
import { PREPARATIONS } from './preparations.ts'
import { prepareBody } from './prepare-request.ts'

export type BodyTask = {
  /** Index in `PREPARATIONS`. */
  readonly preparation: number
  readonly body: ArrayBuffer
  /** The catalog that the caller may see now. */
  readonly models: readonly ModelSpec[]
}

/** A class instance does not survive the way between threads, so an `ApiError` is sent as its fields. */
export type BodyOutcome<Result> =
  | { readonly status: 'prepared'; readonly prepared: Result }
  | {
      readonly status: 'refused'
      readonly code: ApiErrorCode
      readonly message: string
      readonly param: string | undefined
    }

compileSchemaChecks()

serveTasks(({ preparation, body, models }: BodyTask): BodyOutcome<unknown> => {
  const prepare = PREPARATIONS[preparation]
  if (prepare === undefined) throw new Error(`there is no preparation ${preparation}`)
  const catalog = { find: (id: string) => models.find((model) => model.id === id) ?? null }
  try {
    return { status: 'prepared', prepared: prepareBody(prepare, Buffer.from(body), catalog) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, message, param } = error
    return { status: 'refused', code, message, param }
  }
})
