import type { Sampling } from '#libs/contracts/generation-request.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'

/**
 * What the worker needs of an engine. Every failure is an EngineError, whose kind says whose fault it is.
 */
export type EngineClient = {
  /**
   * Runs one generation. `onTokens` gets the tokens as they arrive, those that arrive together as one group, and returns
   * whether more are wanted; it is not called after the promise settles or `signal` is aborted. Resolves with the engine's
   * end. If `onTokens` returns false or `signal` is aborted before that, it stops the engine's work and resolves with null;
   * if `onTokens` throws, it stops it and rejects with that error. Rejects with an EngineError when the engine fails.
   */
  readonly generate: (
    request: EngineRequest,
    options: { readonly signal: AbortSignal; readonly onTokens: (tokens: EngineTokens) => boolean },
  ) => Promise<EngineEnd | null>
  /** Rejects once `signal` is aborted; the engine's work then stops at once. */
  readonly embed: (
    request: { readonly requestId: string; readonly promptIds: Uint32Array },
    signal: AbortSignal,
  ) => Promise<{ readonly embedding: Float32Array; readonly promptTokens: number }>
  /** The engine's own report. It does not detect a hang: only the absence of tokens shows one. */
  readonly healthCheck: () => Promise<{ readonly healthy: boolean; readonly message: string }>
  readonly getModelInfo: () => Promise<EngineModelInfo>
  readonly getServerInfo: () => Promise<EngineServerInfo>
  /** As of the engine's last step. All zero where the engine collects no statistics. */
  readonly getLoads: () => Promise<EngineLoad>
  /** Accepts no new calls; running ones end by themselves or by their signal. */
  readonly close: () => void
}

export type EngineRequest = {
  readonly requestId: string
  readonly promptIds: Uint32Array
  /** Complete: the engine does not apply the model's own defaults. An absent parameter is neutral. */
  readonly sampling: Sampling
  readonly maxTokens: number
  /** At most `maxTokens`; absent: 0. Before it, neither an end token nor a stop string ends the output. */
  readonly minTokens?: number
  /** True: the end tokens that the engine knows itself do not end the output. */
  readonly ignoreEos?: boolean
  /** The output ends with the first of them, or of those that the engine knows itself. */
  readonly endIds: readonly number[]
  /** The engine stops at them, but delivers the tokens that contain them. */
  readonly stop: readonly string[]
  readonly constraint: EngineConstraint | null
  /** Only prompts of one salt share cached prefixes, where the engine knows salts; null shares with all that have none. */
  readonly cacheSalt: string | null
}

export type EngineTokens = {
  /** The new tokens, at least one; end tokens are included. */
  readonly ids: readonly number[] | Uint32Array
  readonly promptTokens: number
  readonly cachedTokens: number
}

export type EngineEnd = {
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
  /** Generates text; else it embeds. */
  readonly isGeneration: boolean
}

/** null: the engine does not report it. */
export type EngineServerInfo = {
  /** How many generations it runs at once. */
  readonly maxNumSeqs: number | null
  /** Where a constraint begins to apply. */
  readonly constraintStart: 'first-token' | 'after-reasoning' | null
}

/** Over all of the engine's data-parallel ranks. null: the engine does not report it. */
export type EngineLoad = {
  readonly running: number
  /** Accepted, and not begun. */
  readonly waiting: number
  /** The part of the KV cache that is in use, from 0 to 1; cached blocks that may be evicted do not count. */
  readonly kvUsage: number | null
  readonly kvUsedTokens: number | null
  readonly kvCapacityTokens: number | null
  /** Of vLLM. */
  readonly version: string | null
}
