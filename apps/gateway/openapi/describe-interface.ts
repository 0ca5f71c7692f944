import { z } from 'zod'
import { describeDocument } from '#libs/http-contract/describe-document.ts'
import { chatCompletionsDescription } from '../endpoints/chat-completions/describe.ts'
import { completionsDescription } from '../endpoints/completions/describe.ts'
import { embeddingsDescription } from '../endpoints/embeddings/describe.ts'
import { healthDescription } from '../endpoints/health/describe.ts'
import { messageCountDescription } from '../endpoints/messages/describe-count.ts'
import { messagesDescription } from '../endpoints/messages/describe.ts'
import { describeModelDescription, listModelsDescription } from '../endpoints/models/describe.ts'
import type { BodyDescription, OperationDescription } from '../endpoints/operation-description.ts'
import { responseCountDescription } from '../endpoints/responses/describe-count.ts'
import { responsesDescription } from '../endpoints/responses/describe.ts'
import { accountDescriptions } from '../endpoints/self-service/describe.ts'
import type { ApiStyle } from '../http/api-style.ts'
import { ErrorBody } from '../http/handle-error.ts'
import { MessagesErrorBody } from '../http/messages-error.ts'
import { COMMON_HEADERS } from './common-headers.ts'
import { describeErrors, errorSchemaOf } from './describe-errors.ts'
import { describeOperation } from './describe-operation.ts'

const OPERATIONS: readonly OperationDescription[] = [
  chatCompletionsDescription,
  responsesDescription,
  completionsDescription,
  messagesDescription,
  messageCountDescription,
  responseCountDescription,
  embeddingsDescription,
  listModelsDescription,
  describeModelDescription,
  ...accountDescriptions,
  healthDescription,
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
  const registry = z.registry<{ id: string }>()
  for (const { name, schema } of OPERATIONS.flatMap(bodiesOf)) registry.add(schema, { id: name })
  registry.add(ErrorBody, { id: errorSchemaOf() })
  registry.add(MessagesErrorBody, { id: errorSchemaOf('anthropic') })
  return describeDocument({
    title: 'Millrace',
    about: ABOUT,
    root: '/',
    scheme: {
      name: 'apiKey',
      description: 'Authorization: Bearer <API_KEY>; for /v1/keys a management key.',
    },
    operations: OPERATIONS.map((operation) => ({
      path: operation.path,
      method: operation.method,
      described: describeOperation(operation),
    })),
    registry,
    components: {
      responses: { ...describeErrors(errorsOf()), ...describeErrors(errorsOf('anthropic'), 'anthropic') },
      ...COMMON_HEADERS,
    },
  })
}

function errorsOf(style?: ApiStyle) {
  return new Set(OPERATIONS.filter((one) => one.style === style).flatMap(({ errors }) => errors))
}

function bodiesOf({ request, answer, stream }: OperationDescription): BodyDescription[] {
  return [request, answer, stream?.event].filter((body) => body != null)
}
