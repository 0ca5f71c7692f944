import type { Sampling } from '#libs/contracts/generation-request.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'

/**
 * What the worker needs of an engine, whatever carries it. Every failure is an EngineError, which says whose
 * fault it is.
 */
export type EngineClient = {
  /**
   * Runs one generation. The iteration ends with exactly one `end` output, throws an EngineError, or, once
   * `signal` is aborted, just ends. Leaving it early or aborting stops the engine's work at once. Nothing is
   * sent before the iteration begins; tokens that come while the consumer is busy are handed over together.
   */
  readonly generate: (request: EngineRequest, signal: AbortSignal) => AsyncIterable<EngineOutput>
  /** Once `signal` is aborted it rejects, and the engine's work stops at once. */
  readonly embed: (
    request: { readonly requestId: string; readonly promptIds: Uint32Array },
    signal: AbortSignal,
  ) => Promise<{ readonly embedding: Float32Array; readonly promptTokens: number }>
  /** What the engine says of itself. It does not see a hang: only the silence of tokens tells one. */
  readonly healthCheck: () => Promise<{ readonly healthy: boolean; readonly message: string }>
  readonly getModelInfo: () => Promise<EngineModelInfo>
  readonly getServerInfo: () => Promise<EngineServerInfo>
  /** Takes no new calls; those that run end by themselves or by their signal. */
  readonly close: () => void
}

export type EngineRequest = {
  readonly requestId: string
  readonly promptIds: Uint32Array
  /** Complete: the engine does not apply the model's own defaults. What is absent is neutral. */
  readonly sampling: Sampling
  readonly maxTokens: number
  /** The output ends with the first of them. The engine knows its own ones beside them. */
  readonly endIds: readonly number[]
  /** The engine stops at them, but delivers the tokens that hold them. */
  readonly stop: readonly string[]
  readonly constraint: EngineConstraint | null
}

export type EngineOutput =
  | {
      readonly type: 'tokens'
      /** New ones, end tokens included; never none. */
      readonly ids: readonly number[] | Uint32Array
      readonly promptTokens: number
      readonly cachedTokens: number
    }
  | EngineEnd

export type EngineEnd = {
  readonly type: 'end'
  readonly finishReason: 'stop' | 'length' | 'abort' | 'error'
  /** Set for stop tokens, and for end tokens other than the primary one. */
  readonly matchedTokenId: number | null
  readonly matchedStop: string | null
  readonly promptTokens: number
  readonly cachedTokens: number
  /** Of the whole generation. */
  readonly completionTokens: number
}

export type EngineModelInfo = {
  readonly maxContextLength: number
}

/** null: the engine does not say. */
export type EngineServerInfo = {
  /** How many generations it runs at once. */
  readonly maxNumSeqs: number | null
  /** From where on a constraint holds. */
  readonly constraintStart: 'first-token' | 'after-reasoning' | null
}
