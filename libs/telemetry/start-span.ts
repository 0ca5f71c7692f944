import {
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type SpanContext,
  type Tracer,
} from '@opentelemetry/api'
import { toSpanId } from './span-ids.ts'
import { NO_SPAN, type Span, type SpanOptions, type StartOptions } from './span.ts'

/** Starts a span under `parent`. Without a parent the sampler decides about a new trace. */
export function startSpan(tracer: Tracer, name: string, options: StartOptions): Span {
  const parent = parseTraceparent(options.parent)
  if (parent === null) return open(tracer, name, { ...options, context: ROOT_CONTEXT })
  const keyed = options.linkedKeys?.map((key) => `00-${parent.traceId}-${toSpanId(key)}-01`) ?? []
  const links = [...(options.links ?? []), ...keyed]
  return open(tracer, name, { ...options, links, context: trace.setSpanContext(ROOT_CONTEXT, parent) })
}

function open(tracer: Tracer, name: string, options: SpanOptions & { readonly context: Context }): Span {
  const { kind = 'INTERNAL', attributes = {}, links = [], context } = options
  const span = tracer.startSpan(
    name,
    {
      kind: SpanKind[kind],
      attributes,
      links: links.map(parseTraceparent).flatMap((linked) => (linked === null ? [] : [{ context: linked }])),
    },
    context,
  )
  const { traceId, spanId, traceFlags } = span.spanContext()
  if ((traceFlags & TraceFlags.SAMPLED) === 0) return NO_SPAN
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-01`,
    child: (childName, childOptions = {}) =>
      open(tracer, childName, { ...childOptions, context: trace.setSpan(ROOT_CONTEXT, span) }),
    set: (more) => void span.setAttributes(more),
    event: (eventName, eventAttributes = {}) => void span.addEvent(eventName, eventAttributes),
    fail(errorType) {
      span.setAttributes({ 'error.type': errorType })
      span.setStatus({ code: SpanStatusCode.ERROR })
    },
    end: () => span.end(),
  }
}

/** https://www.w3.org/TR/trace-context/: version, trace, parent, flags; a later version may append fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/

function parseTraceparent(text: string | undefined): SpanContext | null {
  const match = TRACEPARENT.exec(text ?? '')
  if (match === null) return null
  const [, traceId = '', spanId = '', flags = ''] = match
  const context = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
  }
  return isSpanContextValid(context) ? context : null
}
