import type { IncomingHttpHeaders } from 'node:http'
import type { Usage } from '#libs/contracts/generation-event.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { FinishedGeneration } from '../generation/output/collect.ts'
import type { OutputEvent } from '../generation/request/generation-call.ts'
import type { ErrorBody } from '../http/handle-error.ts'
import type { Prepare } from './prepare-request.ts'
import type { ReasoningKeys } from './responses/sealed-reasoning.ts'

/**
 * An operation that answers with a generation. It turns a body into a request, and the generation's events into
 * answers. `Options` are the fields of the body that the answers depend on.
 */
export type GenerationEndpoint<Options> = {
  readonly prepare: Prepare<PreparedGeneration<Options>>
  /** Returns the body of an answer that is not streamed, or the body's JSON. */
  renderWhole(generation: FinishedGeneration, answer: Answer<Options>): object | string
  renderStream(answer: Answer<Options>): StreamRenderer
}

export type PreparedGeneration<Options> = {
  readonly model: ModelSpec
  readonly request: ChatRequest
  /** The caller's own limit; null means the model's maximum. */
  readonly maxOutputTokens: number | null
  /** How many answers the caller wants. Absent: one. */
  readonly choices?: number
  readonly stream: boolean
  readonly options: Options
}

/**
 * The fields of an answer that do not depend on the output. They are the same in every event of a stream, and in an
 * answer that is not streamed.
 */
export type Answer<Options> = {
  /** The request's id, from which the answer's id is made. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** Returns the present time in Unix seconds. */
  readonly nowS: () => number
  readonly model: ModelSpec
  readonly options: Options
  /** The keys of the caller's account, for reasoning that is sent encrypted. */
  readonly reasoningKeys: ReasoningKeys
  /** The request's headers. */
  readonly headers: IncomingHttpHeaders
}

/** Renders one stream as text: whole server-sent events, written to the socket as they are. */
export type StreamRenderer = {
  /** The response headers of this stream. */
  readonly headers: Readonly<Record<string, string>>
  /** The event that is sent after a time without output. Absent: a comment. */
  readonly keepAlive?: string
  /** Takes the usage of the prompt, before the first batch. Absent: the stream does not begin with it. */
  readonly takePrompt?: (usage: Usage) => void
  /**
   * Renders the events of one batch, which all belong to `choice` (absent: 0). The last batch of each choice has
   * `generation-end`. The text of the request's last batch includes the end of the stream.
   */
  render(events: readonly OutputEvent[], choice?: number): string
  /** True once the end has been rendered. */
  ended(): boolean
  /** Renders the events that end a failed stream. */
  renderError(body: ErrorBody): string
}
