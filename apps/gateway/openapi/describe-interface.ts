import { z } from 'zod'
import { chatCompletionsDescription } from '../endpoints/chat-completions/describe.ts'
import { completionsDescription } from '../endpoints/completions/describe.ts'
import { embeddingsDescription } from '../endpoints/embeddings/describe.ts'
import { describeModelDescription, listModelsDescription } from '../endpoints/models/describe.ts'
import type { BodyDescription, OperationDescription } from '../endpoints/operation-description.ts'
import { responsesDescription } from '../endpoints/responses/describe.ts'
import { ErrorBody } from '../http/handle-error.ts'
import { COMMON_HEADERS } from './common-headers.ts'
import { describeErrors } from './describe-errors.ts'
import { describeOperation } from './describe-operation.ts'

const OPERATIONS: readonly OperationDescription[] = [
  chatCompletionsDescription,
  responsesDescription,
  completionsDescription,
  embeddingsDescription,
  listModelsDescription,
  describeModelDescription,
]

const ABOUT = `Hosted language models over HTTP with JSON bodies, paid from prepaid credits.

Clients ignore fields that they do not know. Explicit null on an optional field equals its absence. Properties
beyond those described are accepted; what would change the answer and is not served is refused with 400.

A stream is server-sent events; comments keep it alive. Its schema here is that of one event, as OpenAPI 3.2 has
it. An error after a stream began is an event of its own.`

/** The description of the public interface: an OpenAPI 3.1 document, made from the schemas that check the requests. */
export function describeInterface() {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: '1.0.0',
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    paths: describePaths(),
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'Authorization: Bearer <API_KEY>' },
      },
      schemas: describeSchemas(),
      responses: describeErrors(new Set(OPERATIONS.flatMap(({ errors }) => errors))),
      ...COMMON_HEADERS,
    },
  }
}

function describePaths() {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of OPERATIONS) {
    const path = (paths[operation.path] ??= {})
    path[operation.method] = describeOperation(operation)
  }
  return paths
}

/** Every named schema; a schema that contains another one refers to it. */
function describeSchemas() {
  const registry = z.registry<{ id: string }>()
  for (const { name, schema } of OPERATIONS.flatMap(bodiesOf)) registry.add(schema, { id: name })
  registry.add(ErrorBody, { id: 'Error' })
  // The schemas' input side: the fields of requests before they are transformed. Answers have no transforms, and this
  // side leaves their objects open to further fields.
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
  })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _uri, ...schema }]) => [name, schema]),
  )
}

function bodiesOf({ request, answer, stream }: OperationDescription): BodyDescription[] {
  return [request, answer, stream?.event].filter((body) => body != null)
}
