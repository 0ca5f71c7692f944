import { API_ERRORS } from '#libs/contracts/api-error.ts'
import { toReference } from '#libs/http-contract/describe-document.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import type {
  BodyDescription,
  OperationDescription,
  StreamDescription,
} from '../endpoints/operation-description.ts'
import type { ApiStyle } from '../http/api-style.ts'
import { headersOf, START_WAIT_PARAMETERS, WAITED_ANSWER } from './common-headers.ts'
import { errorSchemaOf, toErrorName } from './describe-errors.ts'

/** Returns the OpenAPI operation object. */
export function describeOperation(operation: OperationDescription) {
  const { request, answer, stream, errors, style } = operation
  const mayWait = errors.includes('model_warming')
  const statuses = [...new Set(errors.map((code) => API_ERRORS[code].status))].toSorted((a, b) => a - b)
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: operation.description,
    ...(operation.isPublic === true && { security: [] }),
    parameters: [
      ...operation.parameters,
      ...(mayWait ? START_WAIT_PARAMETERS : []),
      { $ref: '#/components/parameters/RequestId' },
    ],
    ...(request === null
      ? {}
      : { requestBody: { required: true, content: { 'application/json': describeBody(request) } } }),
    responses: {
      [answer.status ?? 200]: {
        description: stream === null ? 'The answer.' : 'The answer, whole or as a stream.',
        headers: {
          ...headersOf(style),
          ...(mayWait ? WAITED_ANSWER : {}),
          ...describeHeaders(stream?.headers ?? {}),
        },
        content: {
          'application/json': describeBody(answer),
          ...(stream === null ? {} : { 'text/event-stream': describeStream(stream, style) }),
        },
      },
      ...Object.fromEntries(
        statuses.map((status) => [status, { $ref: `#/components/responses/${toErrorName(status, style)}` }]),
      ),
    },
  }
}

function describeBody({ name, examples }: BodyDescription) {
  return { schema: refer(name), examples: toExamples(examples) }
}

function describeHeaders(headers: StreamDescription['headers']) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, { description, schema }]) => [
      name,
      { description, schema: documentedAs(schema) },
    ]),
  )
}

/** Describes one event of the stream. Its `data` is text: JSON of the schema `event`, or of an error. */
function describeStream({ event, areNamed, endsWithDone }: StreamDescription, style?: ApiStyle) {
  const json = (name: string) => ({
    type: 'string',
    contentMediaType: 'application/json',
    contentSchema: refer(name),
  })
  const data = [json(event.name), json(errorSchemaOf(style))]
  const events = Object.entries(event.examples).map(([name, value]) => [
    name,
    { data: JSON.stringify(value) },
  ])
  return {
    schema: {
      type: 'object',
      required: ['data'],
      properties: {
        ...(areNamed ? { event: { type: 'string' } } : {}),
        data: { anyOf: endsWithDone ? [...data, { const: '[DONE]' }] : data },
      },
    },
    examples: toExamples({
      ...Object.fromEntries(events),
      ...(endsWithDone ? { done: { data: '[DONE]' } } : {}),
    }),
  }
}

function toExamples(values: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
}

function refer(schema: string) {
  return { $ref: toReference(schema) }
}
