import { z } from 'zod'
import { chatCompletionsDescription } from '../endpoints/chat-completions/describe.ts'
import { completionsDescription } from '../endpoints/completions/describe.ts'
import { embeddingsDescription } from '../endpoints/embeddings/describe.ts'
import { describeModelDescription, listModelsDescription } from '../endpoints/models/describe.ts'
import type { BodyDescription, OperationDescription } from '../endpoints/operation-description.ts'
import { responsesDescription } from '../endpoints/responses/describe.ts'
import { accountDescriptions } from '../endpoints/self-service/describe.ts'
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
  ...accountDescriptions,
]

const ABOUT = `Hosted language models over HTTP with JSON bodies, paid from prepaid credits.

Clients must ignore unknown fields in responses. In requests, null on an optional field is the same as its absence.
Properties that are not described here are ignored, except known ones that would change the output and are not
supported: they are rejected with 400. The operations of /v1/keys reject every property that is not described, and in
their changes null removes a value.

A stream consists of server-sent events, with comments as keep-alives. Its schema here describes one event, as in
OpenAPI 3.2. An error after the start of a stream is sent as an event.`

/** Returns the OpenAPI 3.1 document of the public interface, generated from the schemas that check the requests. */
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
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'Authorization: Bearer <API_KEY>; for /v1/keys a management key.',
        },
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

/** All named schemas. A schema that contains another named one refers to it. */
function describeSchemas() {
  const registry = z.registry<{ id: string }>()
  for (const { name, schema } of OPERATIONS.flatMap(bodiesOf)) registry.add(schema, { id: name })
  registry.add(ErrorBody, { id: 'Error' })
  // `input` describes requests before zod transforms them. Response schemas have no transforms; for them, `input` also
  // allows additional properties.
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
