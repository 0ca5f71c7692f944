/**
 * One typed piece of a generation's output: what a worker publishes and every endpoint renders.
 * There is one per token, so they are checked by the codecs of `libs/event-bus`, which are faster than a schema.
 */
export type GenerationEvent =
  | GenerationClaimed
  | GenerationDeclined
  | PromptCached
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

/** A worker runs it. The first event of every epoch, unless it is declined or fails before. */
export type GenerationClaimed = {
  readonly type: 'generation-claimed'
  readonly worker: string
  /** Exact, template and tools included; the first claim's count in every epoch. */
  readonly promptTokens: number
  /** How many token ids of earlier epochs this one continues after; 0 in epoch 1 and after a restart. */
  readonly after: number
  /** A grammar constrains the output: it can be started again, not continued. */
  readonly guided: boolean
  /** How long it had waited in this epoch, by the queue Redis; absent where an older worker claimed it. */
  readonly waitedMs?: number
}

export const DECLINE_REASONS = [
  'worker-stopping',
  'engine-lost',
  'hold-too-small',
  'misfit',
  'incomplete',
] as const

/** A worker gave it back, perhaps after output: the epoch is over, and the gateway queues it again. */
export type GenerationDeclined = {
  readonly type: 'generation-declined'
  readonly reason: (typeof DECLINE_REASONS)[number]
  /** Exact when the reason is `hold-too-small`, else 0. */
  readonly promptTokens: number
  /** What a worker needs to run it, when the reason is `misfit`: a feature or `window:N`; else empty. */
  readonly need: string
  readonly blame: Blame
}

/**
 * What a generation may have to do with the death, or the hang, of the engine that ran it.
 * - `none`: the engine lives, did not run it yet, or died of another one.
 * - `present`: the engine ran it, among others.
 * - `suspect`: of all that the engine ran, it alone can have been the cause.
 */
export const BLAMES = ['none', 'present', 'suspect'] as const
export type Blame = (typeof BLAMES)[number]

/** How much of the prompt the engine had cached; sent once, before the first token, where it is above 0. */
export type PromptCached = { readonly type: 'prompt-cached'; readonly cachedTokens: number }

/** The vectors of `count` inputs, from index `first` on, are on the bus (`vectors.ts` of `libs/event-bus`). */
export type VectorsReady = {
  readonly type: 'vectors-ready'
  readonly first: number
  readonly count: number
  /** Of these inputs. */
  readonly promptTokens: number
}

export const FINISH_REASONS = ['stop', 'length', 'tool-calls'] as const

export type GenerationEnd = {
  readonly type: 'generation-end'
  readonly finishReason: (typeof FINISH_REASONS)[number]
  /** Over all epochs: tokens that an earlier epoch had generated are part of it. */
  readonly usage: Usage
}

/** The codes of `API_ERRORS` with which a worker ends a generation. */
export const GENERATION_ERROR_CODES = [
  'invalid_request',
  'context_length_exceeded',
  'insufficient_credits',
  'upstream_error',
  'model_unavailable',
] as const

/** It failed; nothing is charged. */
export type GenerationError = {
  readonly type: 'generation-error'
  readonly code: (typeof GENERATION_ERROR_CODES)[number]
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
  /** What will be charged; set by the gateway alone, where its answers say so. */
  readonly costNano?: bigint
}
