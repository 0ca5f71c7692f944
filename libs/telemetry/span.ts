import type { Attributes, SpanKind } from '@opentelemetry/api'

/**
 * One step of a traced request. Spans are passed as values; what starts one ends it. Attributes and names never hold
 * text of a prompt or of an output.
 */
export type Span = {
  /** For the log; undefined where the request is not traced. */
  readonly traceId: string | undefined
  /** The W3C text that continues the trace in another process; undefined where the request is not traced. */
  readonly traceparent: string | undefined
  /** Starts a step within this one. */
  child(name: string, options?: SpanOptions): Span
  set(attributes: Attributes): void
  event(name: string, attributes?: Attributes): void
  /** Marks it as failed. `errorType` is a code of a bounded set. */
  fail(errorType: string): void
  /** Later calls have no effect. */
  end(): void
}

export type SpanOptions = {
  readonly kind?: keyof typeof SpanKind
  readonly attributes?: Attributes
  /** W3C texts of related traces; those that cannot be read are left out. */
  readonly links?: readonly (string | undefined)[]
}

/** The span of everything that is not traced. It costs nothing. */
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
  /** Turns what the step threw into a code of a bounded set. */
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

/** Runs one step. `span` ends with it, and is marked as failed when it throws. */
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
  /** A W3C text of another process. */
  readonly parent?: string | undefined
  /** Unique within the trace: from it follows the span's id, so that later spans of the trace can be linked to it. */
  readonly key?: string
  /** Keys of spans of the parent's trace, which other processes may have made. */
  readonly linkedKeys?: readonly string[]
}
