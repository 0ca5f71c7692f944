import type { GenerationEvent, Usage } from '#libs/contracts/generation-event.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Conversation } from './conversation.ts'
import type { RequestSize } from '#libs/contracts/request-size.ts'
import type { Span } from '#libs/telemetry/span.ts'
import type { Caller } from '../../callers/caller.ts'

/** A wait for a model's start: how long the client waits, in s, and the predicted time until a worker is ready, in ms. */
export type AnnouncedWait = { readonly limitS: number; expectedMs(): number | null }

/** One generation, as an endpoint requests it. */
export type GenerationCall = {
  /** UUIDv7; also the request's `x-request-id`. */
  readonly id: string
  readonly caller: Caller
  /** The span of the request; the steps of the generation are its children. */
  readonly span: Span
  readonly model: ModelSpec
  readonly request: GenerationRequest
  readonly size: RequestSize
  /** Null if the prompt is small: it is then hashed when a worker is chosen (`affinity.ts`), if one is to be chosen. */
  readonly conversation: Conversation | null
  /** The caller's own name for the conversation, from a header or from `prompt_cache_key`; null if there is none. */
  readonly session: string | null
  /** The caller's own limit; null leaves it to the model's maximum. It is the limit of each choice. */
  readonly maxOutputTokens: number | null
  /** How many answers to the one prompt the request wants, at most `MAX_CHOICES`. Absent: one. */
  readonly choices?: number
  /** For embeddings: called with the vectors of the inputs, in their order, before the generation ends. */
  readonly onVectors?: (vectors: readonly Float32Array[]) => void
  /** Called once, before output is sent, with the usage of the prompt: the tokens, and how many were cached. */
  readonly onPrompt?: (usage: Usage) => void
  /** True if the client receives the output as it arrives. Otherwise nothing is sent before the output is complete. */
  readonly streamed: boolean
  /** True if the client marks the request as the repetition of a request that was refused or failed. */
  readonly isRepeated: boolean
  /**
   * How long the client is willing to wait for a model that is being started, in seconds. Null if the client is not
   * willing to wait: while no worker of the model is ready, its request is refused.
   */
  readonly startWaitS: number | null
  /** Called when the generation is queued and waits for its model to start. */
  readonly onStartWait?: (wait: AnnouncedWait) => void
  /** When the request's header arrived, by this process's monotonic clock. */
  readonly receivedMs: number
  /** Aborted when the client hangs up. */
  readonly signal: AbortSignal
}

/** The events that a client may see. Claims, declines, losses and failures stay inside the core. */
export type OutputEvent = Extract<
  GenerationEvent,
  {
    readonly type:
      | 'prompt-logprobs'
      | 'token-logprobs'
      | 'reasoning-delta'
      | 'text-delta'
      | 'tool-call-start'
      | 'tool-call-delta'
      | 'generation-end'
  }
>

/**
 * Runs a request's generation, and passes the output to `send` in batches, one for each bus message and choice. The
 * last event of each choice is `generation-end`. The last of these events has the usage of the request: the prompt once,
 * and the output of all choices.
 *
 * Throws an `ApiError`, before or after the first batch, and also the errors of `send`. Aborting the signal cancels the
 * generation: the call then resolves, and `generation-end` is not sent.
 *
 * The output is passed to a function instead of being iterated over: an async generator would take 3 KiB of memory for
 * each open stream, and some 4 % of the gateway's CPU for each token.
 */
export type Generate = (call: GenerationCall, send: SendOutput) => Promise<void>

/** `choice` is the number of the choice to which the batch belongs. Absent: 0. */
export type SendOutput = (batch: readonly OutputEvent[], choice?: number) => void
