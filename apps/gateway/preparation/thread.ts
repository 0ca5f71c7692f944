// The thread on which large bodies are prepared: bytes in, a prepared request or its refusal out.
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { serveTasks } from '#libs/threads/serve-tasks.ts'
import { PREPARATIONS } from './preparations.ts'
import { prepareNow } from './prepare-body.ts'

export type Order = {
  /** Its place in the list of preparations. */
  readonly preparation: number
  readonly body: ArrayBuffer
  /** The catalog as it is now and as the caller may see it. */
  readonly models: readonly ModelSpec[]
}

export type Outcome<Result> =
  | { readonly status: 'prepared'; readonly prepared: Result }
  | {
      readonly status: 'refused'
      readonly code: ApiErrorCode
      readonly message: string
      readonly param: string | undefined
    }

serveTasks(({ preparation: place, body, models }: Order): Outcome<unknown> => {
  const preparation = PREPARATIONS[place]
  if (preparation === undefined) throw new Error(`there is no preparation ${place}`)
  const catalog = { find: (id: string) => models.find((model) => model.id === id) ?? null }
  try {
    return { status: 'prepared', prepared: prepareNow(preparation, Buffer.from(body), catalog) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, message, param } = error
    return { status: 'refused', code, message, param }
  }
})
