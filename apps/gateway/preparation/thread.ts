// The thread on which large bodies are prepared: bytes in, a prepared request or its refusal out.
import { parentPort, type MessagePort } from 'node:worker_threads'
import { ApiError, type ApiErrorCode } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { PREPARATIONS } from './preparations.ts'
import { prepareNow } from './prepare-body.ts'

export type Order = {
  /** Its place in the list of preparations. */
  readonly preparation: number
  readonly body: ArrayBuffer
  /** The catalog as it is now and as the caller may see it. */
  readonly models: readonly ModelSpec[]
  readonly reply: MessagePort
}

export type Outcome<Result> =
  | { readonly status: 'prepared'; readonly prepared: Result }
  | {
      readonly status: 'refused'
      readonly code: ApiErrorCode
      readonly message: string
      readonly param: string | undefined
    }
  | { readonly status: 'failed'; readonly error: unknown }

parentPort?.on('message', (order: Order) => {
  order.reply.postMessage(toOutcome(order))
  order.reply.close()
})

function toOutcome({ preparation: place, body, models }: Order): Outcome<unknown> {
  const preparation = PREPARATIONS[place]
  const catalog = { find: (id: string) => models.find((model) => model.id === id) ?? null }
  try {
    if (preparation === undefined) throw new Error(`there is no preparation ${place}`)
    return { status: 'prepared', prepared: prepareNow(preparation, Buffer.from(body), catalog) }
  } catch (error) {
    if (!(error instanceof ApiError)) return { status: 'failed', error }
    const { code, message, param } = error
    return { status: 'refused', code, message, param }
  }
}
