import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'

const Schema = z.record(z.string(), z.unknown())
const Examples = z.record(z.string(), z.object({ value: z.unknown() }))
const Media = z.object({ schema: Schema, examples: Examples.default({}) })
const Answer = z.preprocess(
  close,
  z.object({
    headers: z
      .record(z.string(), z.object({ required: z.boolean().default(false), schema: Schema }))
      .default({}),
    content: z.record(z.string(), Media),
  }),
)
const Operation = z.object({
  operationId: z.string(),
  requestBody: z.object({ content: z.object({ 'application/json': Media }) }).optional(),
  responses: z.record(z.string(), Answer),
})
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) })

/** Headers that any HTTP answer may have and that the document need not describe. */
const ORDINARY =
  /^(?:cache-control|connection|content-length|content-type|date|keep-alive|transfer-encoding|x-accel-buffering)$/

/**
 * Compares real answers with an OpenAPI document: status, headers, content type and body, or every event of a stream.
 * The document allows further fields in its objects, so that fields can be added later. This check does not allow them,
 * so that a field without a description fails.
 */
export function createConformance(document: unknown) {
  const { paths } = Document.parse(resolve(document, document))
  const operations = new Map(
    Object.values(paths)
      .flatMap((path) => Object.values(path))
      .map((operation) => [operation.operationId, operation]),
  )
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })

  function assertValid(schema: z.infer<typeof Schema>, value: unknown) {
    if (ajv.validate(schema, value)) return
    throw new Error(`${JSON.stringify(value).slice(0, 500)} is not as described: ${ajv.errorsText()}`)
  }

  /** Keeps the compiled schemas of events, because compiling one takes longer than checking many events. */
  const dataSchemas = new Map<object, { sentinels: string[]; json: z.infer<typeof Schema> }>()

  function assertEvent(schema: z.infer<typeof Schema>, given: unknown) {
    assertValid(schema, given)
    const { data } = Event.parse(given)
    const { sentinels, json } = dataSchemas.get(schema) ?? readDataSchema(schema)
    dataSchemas.set(schema, { sentinels, json })
    if (!sentinels.includes(data)) assertValid(json, JSON.parse(data))
  }

  function assertBody(type: string, media: z.infer<typeof Media>, body: string) {
    if (type === 'application/json') assertValid(media.schema, JSON.parse(body))
    else if (type === 'application/jsonl' || type === 'text/csv') {
      for (const line of readLines(body))
        assertValid(media.schema, type === 'text/csv' ? line : JSON.parse(line))
    } else for (const event of readEvents(body)) assertEvent(media.schema, event)
  }

  return {
    operations,
    assertValid,
    assertEvent,
    /** Throws if the answer differs from its description. Resolves with the text of the body. */
    async assertAnswer(operationId: string, response: Response): Promise<string> {
      const answer = operations.get(operationId)?.responses[String(response.status)]
      if (answer === undefined) throw new Error(`${operationId} does not describe ${response.status}`)
      for (const [name, { required, schema }] of Object.entries(answer.headers)) {
        const value = response.headers.get(name)
        if (value === null && required) throw new Error(`the header ${name} is missing`)
        if (value !== null) assertValid(schema, schema['type'] === 'integer' ? Number(value) : value)
      }
      const strange = [...response.headers.keys()].filter(
        (name) => !(name in answer.headers) && !ORDINARY.test(name),
      )
      if (strange.length > 0) throw new Error(`the headers ${strange.join()} are not described`)
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      const media = answer.content[type]
      if (media === undefined) throw new Error(`the content type ${type} is not described`)
      const body = await response.text()
      assertBody(type, media, body)
      return body
    },
  }
}

const Event = z.strictObject({ event: z.string().optional(), data: z.string() })
type Event = z.infer<typeof Event>

/** Returns the schema of an event's JSON data, which is checked here because validators ignore `contentSchema`. */
function readDataSchema(schema: unknown) {
  const kinds = EventSchema.parse(schema).properties.data.anyOf
  return {
    sentinels: kinds.flatMap((kind) => ('const' in kind ? [kind.const] : [])),
    json: { anyOf: kinds.flatMap((kind) => ('contentSchema' in kind ? [kind.contentSchema] : [])) },
  }
}

const EventSchema = z.object({
  properties: z.object({
    data: z.object({
      anyOf: z.array(z.union([z.object({ contentSchema: Schema }), z.object({ const: z.string() })])),
    }),
  }),
})

function readLines(body: string): string[] {
  const lines = body.split(/\r?\n/).filter((line) => line !== '')
  if (lines.length === 0) throw new Error('an export without lines')
  return lines
}

function readEvents(body: string): Event[] {
  const blocks = body.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'))
  if (blocks.length === 0) throw new Error('a stream without events')
  return blocks.map((block) => {
    const lines = Object.fromEntries(
      block
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
    )
    return Event.parse(lines)
  })
}

/** Returns the value with all references resolved. The document has no circular references. */
function resolve(value: unknown, document: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => resolve(item, document))
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value && typeof value.$ref === 'string')
    return resolve(lookUp(value.$ref, document), document)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, resolve(inner, document)]))
}

function lookUp(pointer: string, document: unknown): unknown {
  return pointer
    .slice('#/'.length)
    .split('/')
    .reduce<unknown>((place, step) => {
      const found = Schema.parse(place)[step]
      if (found === undefined) throw new Error(`the document has no ${pointer}`)
      return found
    }, document)
}

/** Closes every object that lists its properties. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([name, part]) => [name, close(part)]))
  return inner['type'] === 'object' && !('additionalProperties' in inner)
    ? { ...inner, additionalProperties: false }
    : inner
}
