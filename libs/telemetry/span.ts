import type { Attributes, SpanKind } from '@opentelemetry/api'

/**
 * One step of a traced request. Spans are passed as values; the code that starts a span ends it. Attributes and names
 * never contain text of a prompt or of an output.
 */
export type Span = {
  /** The trace id for the log; undefined if the request is not traced. */
  readonly traceId: string | undefined
  /** The W3C text that continues the trace in another process; undefined if the request is not traced. */
  readonly traceparent: string | undefined
  /** Starts a step within this step. */
  child(name: string, options?: SpanOptions): Span
  set(attributes: Attributes): void
  event(name: string, attributes?: Attributes): void
  /** Marks the step as failed. `errorType` is a code of a bounded set. */
  fail(errorType: string): void
  /** Ends the span. Later calls have no effect. */
  end(): void
}

export type SpanOptions = {
  readonly kind?: keyof typeof SpanKind
  readonly attributes?: Attributes
  /** W3C texts of related traces; unreadable texts are left out. */
  readonly links?: readonly (string | undefined)[]
}

/** The span of everything that is not traced; its methods do nothing. */
export const NO_SPAN: Span = {
  traceId: undefined,
  traceparent: undefined,
  child: () => NO_SPAN,
  set: () => undefined,
  event: () => undefined,
  fail: () => undefined,
  end: () => undefined,
}

type Step<Result> = {
  /** Converts the error of the step into a code of a bounded set. */
  readonly toErrorType: (error: unknown) => string
  readonly run: (span: Span) => Result | Promise<Result>
}

/** Runs one step as a child of `parent`, as `runWithin` does. */
export async function traceStep<Result>(
  parent: Span,
  name: string,
  { run, toErrorType, ...options }: SpanOptions & Step<Result>,
): Promise<Result> {
  return await runWithin(parent.child(name, options), { run, toErrorType })
}

/** Runs one step. `span` ends with the step, and is marked as failed if the step throws. */
export async function runWithin<Result>(span: Span, { run, toErrorType }: Step<Result>): Promise<Result> {
  try {
    return await run(span)
  } catch (error) {
    span.fail(toErrorType(error))
    throw error
  } finally {
    span.end()
  }
}

export type StartOptions = SpanOptions & {
  /** The W3C text that another process sent. */
  readonly parent?: string | undefined
  /**
   * A text that is unique within the trace. The span's id is made from it, so that later spans of the trace can be
   * linked to this span.
   */
  readonly key?: string
  /** Keys of spans of the parent's trace, which other processes may have made. */
  readonly linkedKeys?: readonly string[]
}
