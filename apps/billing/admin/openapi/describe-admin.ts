import { z } from 'zod'
import { ADMIN_ERRORS, AdminErrorBody, type AdminErrorCode } from '../admin-error.ts'
import type { Operation } from '../operation.ts'
import { ROLES_OF } from '../roles.ts'

const ABOUT = `Accounts, keys, credits and the books of one Millrace, for its operators and their tools.

Amounts are whole nano-credits (10⁻⁹ credit) as text. Times and days are UTC. Lists come in pages: ask again with
nextCursor until it is null. Everything that changes is in the audit log.`

/** What every operation can answer with, whatever was asked. */
const COMMON_ERRORS = [
  'invalid_request',
  'invalid_token',
  'forbidden',
  'internal_error',
  'unavailable',
] as const

/** The operators' interface as an OpenAPI 3.1 document, made of the schemas that validate. */
export function describeAdmin(operations: readonly Operation[]) {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const path = (paths[operation.url] ??= {})
    path[operation.method.toLowerCase()] = describeOperation(operation)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace for operators',
      version: '1.0.0',
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/admin/v1' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A credential of this interface.' },
      },
      schemas: describeSchemas(),
    },
  }
}

function describeOperation(operation: Operation) {
  const roles = `Roles: ${ROLES_OF[operation.id].join(', ')}.`
  return {
    operationId: operation.id,
    summary: operation.summary,
    description: operation.description === undefined ? roles : `${operation.description}\n\n${roles}`,
    parameters: [
      ...describeParameters('path', operation.path),
      ...describeParameters('query', operation.query),
    ],
    ...describeRequest(operation),
    responses: { ...describeAnswer(operation), ...describeErrors([...COMMON_ERRORS, ...operation.errors]) },
  }
}

function describeParameters(place: 'path' | 'query', schema: z.ZodObject) {
  return Object.entries(schema.shape).map(([name, field]) => {
    const { description, ...described } = toSchema(field)
    return {
      name,
      in: place,
      required: !z.safeParse(field, undefined).success,
      ...(description === undefined ? {} : { description }),
      schema: described,
    }
  })
}

function describeRequest(operation: Operation) {
  if (operation.kind !== 'change') return {}
  const required = !operation.body.safeParse({}).success
  return { requestBody: { required, content: { 'application/json': { schema: toSchema(operation.body) } } } }
}

function describeAnswer(operation: Operation) {
  if (operation.kind !== 'export') {
    const status = operation.kind === 'change' ? operation.status : 200
    const content = { 'application/json': { schema: toSchema(operation.answer) } }
    return { [status]: { description: 'The answer.', content } }
  }
  const content = Object.entries(operation.lines).map(([type, line]) => [type, { schema: toSchema(line) }])
  return { 200: { description: 'One line each.', content: Object.fromEntries(content) } }
}

/** Several of our codes may have one status. */
function describeErrors(codes: readonly AdminErrorCode[]) {
  const statuses = Map.groupBy(codes, (code) => ADMIN_ERRORS[code].status)
  return Object.fromEntries([...statuses].map(([status, rows]) => [status, describeStatus(rows)]))
}

function describeStatus(codes: readonly AdminErrorCode[]) {
  return {
    description: codes.map((code) => `${code}: ${ADMIN_ERRORS[code].meaning}`).join(' '),
    content: { 'application/json': { schema: toSchema(AdminErrorBody) } },
  }
}

/** Every schema that has a name; where one is part of another, the other refers to it. */
function describeSchemas() {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: 'input', uri: toReference })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _uri, ...schema }]) => [name, schema]),
  )
}

/** A reference where it has a name. */
function toSchema(schema: z.ZodType): Record<string, unknown> {
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return { $ref: toReference(id) }
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, { io: 'input' })
  return described
}

function toReference(name: string): string {
  return `#/components/schemas/${name}`
}
