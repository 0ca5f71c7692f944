import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'

/** Who pays: the key that was presented and the account that it draws on. */
export type Caller = {
  readonly keyId: string
  readonly accountId: string
  /** Ids of the models that the key may use; null: all. */
  readonly models: ReadonlySet<string> | null
}

/** One generation as an endpoint asks the core for it. */
export type GenerationCall = {
  /** UUIDv7; also the request's `x-request-id`. */
  readonly id: string
  readonly caller: Caller
  readonly model: ModelSpec
  readonly request: GenerationRequest
  /** The caller's own limit; null leaves it to the model's maximum. */
  readonly maxOutputTokens: number | null
  /** Of embeddings: hears the vectors of the inputs, in their order, before the generation ends. */
  readonly onVectors?: (vectors: readonly Float32Array[]) => void
  /** Aborted when the client hangs up. */
  readonly signal: AbortSignal
}

/** What a client may see of a generation. Claims, declines and failures stay inside the core. */
export type OutputEvent = Exclude<
  GenerationEvent,
  { readonly type: 'generation-claimed' | 'generation-declined' | 'generation-error' | 'vectors-ready' }
>

/**
 * Runs one generation and yields its output in batches, one batch for each bus message. The last event of the
 * last batch is `generation-end`. Failures throw an `ApiError`: before the first batch the caller can still be
 * given an HTTP status, after it only an error frame. Leaving the loop or aborting the signal cancels the
 * generation.
 */
export type Generate = (call: GenerationCall) => AsyncIterable<readonly OutputEvent[]>
