import type { IncomingHttpHeaders } from 'node:http'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { FinishedGeneration } from '../generation/collect.ts'
import type { OutputEvent } from '../generation/generation-call.ts'
import type { ErrorBody } from '../http/handle-error.ts'
import type { JsonObject } from '../http/parse-body.ts'
import type { Catalog } from './find-model.ts'

/**
 * An operation that answers with a generation: how its bodies become one request, and how the generation's
 * events become its answers. `Options` is what its answers need to know of the body.
 */
export type GenerationEndpoint<Options> = {
  /**
   * Checks a body's fields, in the order that the interface promises: required fields, the model, then their
   * values. Pure, and its result is plain data. Throws an `ApiError`.
   */
  prepare(body: JsonObject, catalog: Pick<Catalog, 'find'>): PreparedGeneration<Options>
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

/** What names an answer: the same on the whole object and on every frame. */
export type Answer<Options> = {
  /** The request's id; the answer's own id is made from it. */
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

/** Renders one stream: what it returns are whole server-sent events, to be written as they are. */
export type StreamRenderer = {
  /** Response headers of this stream. */
  readonly headers: Readonly<Record<string, string>>
  /** The frames of one batch; after its `generation-end`, everything up to the stream's last frame. */
  render(events: readonly OutputEvent[]): string
  /** Whether the end has been rendered. */
  readonly ended: boolean
  /** The frames that end a stream which failed. */
  renderError(body: ErrorBody): string
}
