import type { IncomingHttpHeaders } from 'node:http'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { FinishedGeneration } from '../generation/collect.ts'
import type { OutputEvent } from '../generation/generation-call.ts'
import type { ErrorBody } from '../http/handle-error.ts'
import type { Prepare } from './prepare-request.ts'

/**
 * An operation that answers with a generation: how its bodies become one request, and how the generation's
 * events become its answers. `Options` are the fields of the body that its answers depend on.
 */
export type GenerationEndpoint<Options> = {
  readonly prepare: Prepare<PreparedGeneration<Options>>
  /** The body of an answer that is not streamed. */
  renderWhole(generation: FinishedGeneration, answer: Answer<Options>): object
  renderStream(answer: Answer<Options>): StreamRenderer
}

export type PreparedGeneration<Options> = {
  readonly model: ModelSpec
  readonly request: ChatRequest
  /** The caller's own limit; null leaves it to the model's maximum. */
  readonly maxOutputTokens: number | null
  readonly stream: boolean
  readonly options: Options
}

/** The fields of an answer that do not depend on the output: the same on the whole object and on every event. */
export type Answer<Options> = {
  /** The request's id; the answer's id is made from it. */
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** Unix seconds at the time of the call. */
  readonly nowS: () => number
  readonly model: ModelSpec
  readonly options: Options
  /** The request's headers. */
  readonly headers: IncomingHttpHeaders
}

/** Renders one stream as text: whole server-sent events, written to the socket as they are. */
export type StreamRenderer = {
  /** Response headers of this stream. */
  readonly headers: Readonly<Record<string, string>>
  /** The events of one batch; with `generation-end` in it, everything up to the end of the stream. */
  render(events: readonly OutputEvent[]): string
  /** Whether the end has been rendered. */
  ended(): boolean
  /** The events that end a failed stream. */
  renderError(body: ErrorBody): string
}
