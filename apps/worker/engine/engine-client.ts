import type { Sampling } from '#libs/contracts/generation-request.ts'

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

export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * What the whole output is held to. An engine that knows where its model's thinking ends (vLLM's
 * `--reasoning-parser`) begins there, any other at the first token.
 */
export type EngineConstraint =
  | ({ readonly type: 'json' } & JsonShape)
  | { readonly type: 'calls'; readonly calls: CallsShape }
  /** Free text, in which each call that begins with `trigger` is held. */
  | { readonly type: 'text-with-calls'; readonly trigger: string; readonly calls: CallsShape }
  | ({ readonly type: 'calls-or-json'; readonly calls: CallsShape } & JsonShape)
  | {
      readonly type: 'after-thinking'
      readonly thinking: { readonly begin: string; readonly end: string }
      readonly output: Exclude<EngineConstraint, { type: 'after-thinking' }>
    }

/** JSON that fits the schema, behind a header where the format has one. */
type JsonShape = { readonly header?: string; readonly schema: JsonSchema }

/** One or more calls and nothing else, each of them `begin`, JSON that fits the schema, `end`. */
export type CallsShape = {
  /** What stands around all of them; null: nothing does. */
  readonly section: { readonly begin: string; readonly end: string } | null
  readonly tags: readonly { readonly begin: string; readonly schema: JsonSchema; readonly end: string }[]
  /** Stands between two calls. */
  readonly separator: string
  /** There is exactly one call. */
  readonly single: boolean
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
