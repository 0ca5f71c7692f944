/**
 * One typed piece of a generation's output: what a worker publishes and every endpoint renders.
 * These travel per token, so they are checked by the frame decoder of `libs/event-bus`, not by a schema.
 */
export type GenerationEvent =
  | GenerationClaimed
  | GenerationDeclined
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'text-delta'; readonly text: string }
  | {
      readonly type: 'tool-call-start'
      readonly index: number
      readonly id: string
      readonly name: string
    }
  | { readonly type: 'tool-call-delta'; readonly index: number; readonly text: string }
  | VectorsReady
  | GenerationEnd
  | GenerationError

/** A worker runs it. Always the first event of an epoch that is not declined. */
export type GenerationClaimed = {
  readonly type: 'generation-claimed'
  readonly worker: string
  /** Exact, template and tools included. */
  readonly promptTokens: number
}

/** A worker gave it back without having generated anything; the gateway dispatches it again. */
export type GenerationDeclined = {
  readonly type: 'generation-declined'
  readonly reason: 'worker-stopping' | 'hold-too-small'
  /** Exact when the reason is `hold-too-small`, else 0. */
  readonly promptTokens: number
}

/** The vectors of `count` inputs, from the one with index `first` on, wait on the bus to be taken. */
export type VectorsReady = {
  readonly type: 'vectors-ready'
  readonly first: number
  readonly count: number
}

export type GenerationEnd = {
  readonly type: 'generation-end'
  readonly finishReason: 'stop' | 'length' | 'tool-calls'
  readonly usage: Usage
}

/** It ended by somebody's fault; nothing is charged. */
export type GenerationError = {
  readonly type: 'generation-error'
  readonly code: 'invalid_request' | 'insufficient_credits' | 'upstream_error' | 'model_unavailable'
  /** Public. */
  readonly message: string
}

export type Usage = {
  readonly promptTokens: number
  /** Part of the prompt tokens; ≤ promptTokens. */
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Part of the completion tokens. */
  readonly reasoningTokens: number
}
