/**
 * One typed piece of a generation's output. A worker publishes it and every endpoint renders it. Events come once per
 * token, so they are checked by the codecs of `libs/event-bus`, which are faster than a schema.
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
  | PromptLogprobs
  | TokenLogprobs
  | VectorsReady
  | GenerationShort
  | ChoiceBegin
  | ChoiceEnd
  | GenerationEnd
  | GenerationError

/**
 * A worker has claimed the generation. An epoch begins with this event, unless the generation is declined or fails
 * before a worker sends it.
 */
export type GenerationClaimed = {
  readonly type: 'generation-claimed'
  readonly worker: string
  /**
   * The number of prompt tokens, template and tools included, as the worker of the first claim has counted them. The
   * number is the same in every epoch.
   */
  readonly promptTokens: number
  /**
   * The number of token ids that earlier epochs have generated and after which this epoch continues, of all choices
   * together. It is 0 in epoch 1, and in an epoch that generates the whole output again.
   */
  readonly after: number
  /** True if a grammar constrains the output. Such a generation can be restarted, but not continued. */
  readonly guided: boolean
  /**
   * How long the generation waited in this epoch, by the clock of the queue Redis. The field is absent if the worker
   * that sent the claim runs an older release.
   */
  readonly waitedMs?: number
}

export const DECLINE_REASONS = [
  'worker-stopping',
  'engine-lost',
  'hold-too-small',
  'misfit',
  'incomplete',
] as const

/** A worker hands the generation back, perhaps after output. Its gateway queues it again, in a new epoch. */
export type GenerationDeclined = {
  readonly type: 'generation-declined'
  readonly reason: (typeof DECLINE_REASONS)[number]
  /**
   * The worker's count if the reason is `hold-too-small`. If the run was stopped because its caller had left: the tokens
   * that the engine was given. Otherwise 0.
   */
  readonly promptTokens: number
  /** If the reason is `misfit`, a feature or `window:N` that a worker needs to run the generation. Otherwise empty. */
  readonly requirement: string
  readonly blame: Blame
}

/**
 * Says whether a generation may have caused the death or the hang of its engine.
 * - `none`: the engine is alive, had not begun the generation, or was killed by another generation.
 * - `present`: the engine ran the generation, among others.
 * - `suspect`: no other generation on the engine can have been the cause.
 */
export const BLAMES = ['none', 'present', 'suspect'] as const
export type Blame = (typeof BLAMES)[number]

/** How many prompt tokens the engine had cached. Sent once, before the first token, unless it is 0. */
export type PromptCached = { readonly type: 'prompt-cached'; readonly cachedTokens: number }

/**
 * The log probabilities of the tokens of a raw prompt from the token with the number `first` on. All of them are sent
 * before the first output, in several events if the prompt is long. An epoch that has no output of earlier epochs to
 * continue sends them again.
 */
export type PromptLogprobs = {
  readonly type: 'prompt-logprobs'
  readonly first: number
  readonly tokens: readonly PromptLogprob[]
}

/**
 * The log probabilities of output tokens, one entry for each token id that is sent with this event. They are sent only
 * if the request asks for them. The output that these tokens complete follows in later events. Together, the events of
 * all epochs have one entry for each output token, also for the tokens of reasoning, of calls and of the end.
 */
export type TokenLogprobs = {
  readonly type: 'token-logprobs'
  readonly tokens: readonly TokenLogprob[]
}

/** The log probability of one token, as a natural logarithm of at least -9999. */
export type Logprob = {
  /** The token's text by itself; empty if the token is the beginning of a character that later tokens complete. */
  readonly token: string
  readonly logprob: number
}

export type TokenLogprob = Logprob & {
  /** The output token, then the most probable other tokens, as many as the request asks for in all. */
  readonly top: readonly Logprob[]
}

/** The log probability of a token of the prompt. It is null for the first token, before which there is nothing. */
export type PromptLogprob = Omit<TokenLogprob, 'logprob'> & { readonly logprob: number | null }

/** The vectors of `count` inputs, from index `first` on, are on the bus (`vectors.ts` of `libs/event-bus`). */
export type VectorsReady = {
  readonly type: 'vectors-ready'
  readonly first: number
  readonly count: number
  /** The prompt tokens of these inputs. */
  readonly promptTokens: number
}

/**
 * The worker needs a larger hold: the present one pays for only few tokens beyond the generated ones. The worker
 * repeats this event until the hold is large enough or the gateway answers that no larger hold will come.
 */
export type GenerationShort = {
  readonly type: 'generation-short'
  /** The hold that the worker knows; the gateway may have a larger one already. */
  readonly amountNano: string
  /** How many more tokens the hold should pay for. */
  readonly moreTokens: number
}

export const FINISH_REASONS = ['stop', 'length', 'tool-calls'] as const

/**
 * The output and the token ids from this event on, this event's ids included, belong to this choice. An epoch begins
 * with choice 0, so a generation with one choice has no such event.
 */
export type ChoiceBegin = { readonly type: 'choice'; readonly choice: number }

/** The end of the present choice, while another choice of the generation has not ended. */
export type ChoiceEnd = Ending & { readonly type: 'choice-end' }

/** The end of the last choice, and with it of the generation. */
export type GenerationEnd = Ending & { readonly type: 'generation-end' }

type Ending = {
  readonly finishReason: (typeof FINISH_REASONS)[number]
  /** The stop string that ended the answer's text; absent if none did. */
  readonly stopString?: string
  /** The usage of the prompt and of this one choice over all epochs, with the tokens that earlier epochs generated. */
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

/** The generation failed. */
export type GenerationError = {
  readonly type: 'generation-error'
  readonly code: (typeof GENERATION_ERROR_CODES)[number]
  /** Shown to the caller. */
  readonly message: string
  /** True if the caller caused the failure after the engine had the prompt: what was used is charged. Else absent. */
  readonly isCharged?: true
}

export type Usage = {
  readonly promptTokens: number
  /** Part of the prompt tokens; ≤ promptTokens. */
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Part of the completion tokens. */
  readonly reasoningTokens: number
  /** The charge. Only the gateway sets it, for answers that report the cost. */
  readonly costNano?: bigint
}
