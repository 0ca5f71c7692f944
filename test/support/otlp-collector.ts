import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { z } from 'zod'

/** A span as it arrived. Attributes of all types are converted to text. */
export type CollectedSpan = {
  readonly service: string
  readonly name: string
  /** The kind without its prefix, such as `SERVER`. */
  readonly kind: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly links: readonly string[]
  /** The spans to which this span is linked. */
  readonly linkedSpans: readonly string[]
  readonly events: readonly string[]
  readonly attributes: Readonly<Record<string, string>>
  readonly isError: boolean
}

export type OtlpCollector = {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** The received bodies. Tests use them to show that a text is in none of them. */
  readonly bodies: readonly string[]
  stop(): Promise<void>
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER']
const STATUS_ERROR = 2

const Attributes = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .default([])

const Export = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              kind: z.int(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().default(''),
              attributes: Attributes,
              links: z.array(z.object({ traceId: z.string(), spanId: z.string() })).default([]),
              events: z.array(z.object({ name: z.string() })).default([]),
              status: z.object({ code: z.int().default(0) }).default({ code: 0 }),
            }),
          ),
        }),
      ),
    }),
  ),
})

/** Starts a server that receives OTLP over HTTP as JSON and keeps the spans. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = []
  const bodies: string[] = []
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body)
      spans.push(...toSpans(Export.parse(JSON.parse(body))))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return {
    url: `http://127.0.0.1:${portOf(server.address())}`,
    spans,
    bodies,
    async stop() {
      server.closeAllConnections()
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      await closed.promise
    },
  }
}

function toSpans({ resourceSpans }: z.infer<typeof Export>): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = toRecord(resource.attributes)['service.name'] ?? ''
    return scopeSpans
      .flatMap((scope) => scope.spans)
      .map(({ kind, attributes, links, events, status, ...span }) => ({
        ...span,
        service,
        kind: KINDS[kind] ?? String(kind),
        attributes: toRecord(attributes),
        links: links.map(({ traceId }) => traceId),
        linkedSpans: links.map(({ spanId }) => spanId),
        events: events.map(({ name }) => name),
        isError: status.code === STATUS_ERROR,
      }))
  })
}

const toRecord = (attributes: z.infer<typeof Attributes>) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]))

function portOf(address: string | AddressInfo | null): number {
  if (address === null || typeof address === 'string') throw new Error('the collector does not listen')
  return address.port
}
