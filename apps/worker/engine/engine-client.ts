import type { Sampling } from '#libs/contracts/generation-request.ts'
import type { EngineConstraint } from '#libs/dialect/engine-constraint.ts'
import type { InputLogprob, OutputLogprob } from './decode-logprobs.ts'

/** The calls that a worker makes to an engine. Every failure is an EngineError, whose kind says whose fault it is. */
export type EngineClient = {
  /**
   * Runs one generation and resolves with the engine's report of the end. `onTokens` is called with each group of
   * tokens that arrive together, and returns whether more tokens are wanted. It is not called after the promise settles
   * or `signal` is aborted. If `onTokens` returns false or `signal` is aborted, the engine's work is stopped, and the
   * promise resolves with null. If `onTokens` throws, the work is stopped, and the promise rejects with that error.
   * Rejects with an EngineError if the engine fails.
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
  /** The engine's own report, also that it is still starting. It does not detect a hang; only the absence of tokens shows a hang. */
  readonly healthCheck: () => Promise<{ readonly healthy: boolean; readonly message: string }>
  /** From this answer on, `generate` and `embed` know the ids and lengths that the engine can take. */
  readonly getModelInfo: () => Promise<EngineModelInfo>
  readonly getServerInfo: () => Promise<EngineServerInfo>
  /** The load at the engine's last step; all zeros if the engine collects no statistics. */
  readonly getLoads: () => Promise<EngineLoad>
  /** Accepts no new calls. Running calls end by themselves or by their signal. */
  readonly close: () => void
}

export type EngineRequest = {
  readonly requestId: string
  readonly promptIds: Uint32Array
  /** All parameters that apply: the engine does not add the model's defaults. An absent parameter is neutral. */
  readonly sampling: Sampling
  readonly maxTokens: number
  /**
   * While the output has fewer tokens than this, neither an end token nor a stop string ends it. This number is at most
   * `maxTokens`, and 0 if absent.
   */
  readonly minTokens?: number
  /** True: the end tokens that the engine knows itself do not end the output. */
  readonly ignoreEos?: boolean
  /** The output ends with the first token that is one of these, or that the engine itself knows as an end token. */
  readonly endIds: readonly number[]
  /** The engine stops at these strings, but delivers the tokens that contain them. */
  readonly stop: readonly string[]
  readonly constraint: EngineConstraint | null
  /** How many log probabilities the engine reports with each token. Absent: no log probabilities at all. */
  readonly topLogprobs?: number
  /** How many log probabilities the engine reports with each token of the prompt. Absent: none at all. */
  readonly promptLogprobs?: number
  /** If the engine supports salts, prompts share cached prefixes only if their salts are equal. Null: no salt. */
  readonly cacheSalt: string | null
}

export type EngineTokens = {
  /** The new tokens, at least one; end tokens are included. */
  readonly ids: readonly number[] | Uint32Array
  /** One entry for each id; absent if the engine has sent none. */
  readonly logprobs?: readonly OutputLogprob[]
  /** One entry for each token of the prompt, with the first tokens of a call that asks for them; else absent. */
  readonly promptLogprobs?: readonly InputLogprob[]
  readonly promptTokens: number
  readonly cachedTokens: number
}

export type EngineEnd = {
  readonly finishReason: 'stop' | 'length' | 'abort' | 'error'
  /** Set for stop tokens, and for end tokens other than the primary end token. */
  readonly matchedTokenId: number | null
  readonly matchedStop: string | null
  readonly promptTokens: number
  readonly cachedTokens: number
  /** All output tokens of the call. */
  readonly completionTokens: number
}

export type EngineModelInfo = {
  readonly maxContextLength: number
  /** True if the model generates text, false if it embeds. */
  readonly isGeneration: boolean
  /** Token ids are below this number. */
  readonly vocabularySize: number
}

export type Servicer = 'python' | 'older-python' | 'rust'

/** A field is null if the engine does not report it. */
export type EngineServerInfo = {
  /** How many generations the engine runs at once. */
  readonly maxNumSeqs: number | null
  /** The program that speaks gRPC for the engine. `older-python`: one that reports no `maxNumSeqs`. */
  readonly servicer: Servicer
  /** Where a constraint begins to apply. */
  readonly constraintStart: 'first-token' | 'after-reasoning' | null
}

/** The load of all data-parallel ranks of an engine together. A field is null if the engine does not report it. */
export type EngineLoad = {
  readonly running: number
  /** Generations that the engine has accepted but not begun. */
  readonly waiting: number
  /** The part of the KV cache that is in use, from 0 to 1; cached blocks that may be evicted do not count. */
  readonly kvUsage: number | null
  readonly kvUsedTokens: number | null
  readonly kvCapacityTokens: number | null
  /** The version of vLLM. */
  readonly version: string | null
}
