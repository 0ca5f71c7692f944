import { z } from 'zod'
import { ADMIN, ADMIN_ROOT } from '#libs/admin-contract/admin-contract.ts'
import { ADMIN_ERRORS, AdminErrorBody, type AdminErrorCode } from '#libs/admin-contract/admin-errors.ts'
import type { Operation } from '#libs/admin-contract/operation.ts'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'

const ABOUT = `Accounts, keys, credits and the books of one Millrace, for its operators and their tools.

Amounts are whole nano-credits (10⁻⁹ credit) as text. Times and days are UTC. Lists come in pages: repeat the request
with nextCursor as its cursor until nextCursor is null. Every change is in the audit log.`

/** The errors of every operation. */
const COMMON_ERRORS = [
  'invalid_request',
  'invalid_token',
  'forbidden',
  'internal_error',
  'unavailable',
] as const

/** The contract of the admin interface as an OpenAPI 3.1 document. */
export function describeAdmin() {
  const paths: Record<string, Record<string, object>> = {}
  for (const [id, operation] of Object.entries(ADMIN)) {
    const path = (paths[operation.path] ??= {})
    path[operation.method.toLowerCase()] = { operationId: id, ...describeOperation(operation) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace for operators',
      version: '1.0.0',
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: ADMIN_ROOT }],
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
  const roles = `Roles: ${operation.roles.join(', ')}.`
  return {
    summary: operation.summary,
    description: operation.description === undefined ? roles : `${operation.description}\n\n${roles}`,
    parameters: [
      ...describeParameters('path', operation.params),
      ...describeParameters('query', operation.query),
    ],
    ...describeRequest(operation),
    responses: {
      ...describeAnswer(operation),
      ...describeErrors([
        ...COMMON_ERRORS,
        ...operation.errors,
        ...(operation.kind === 'change' ? (['request_too_large'] as const) : []),
      ]),
    },
  }
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

/** Several codes may share a status. */
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

/** Every schema with an id; a schema that contains another one refers to it. */
function describeSchemas() {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io: 'input', uri: toReference })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _dialect, $id: _uri, ...schema }]) => [name, schema]),
  )
}

/** A reference where the schema has an id. */
function toSchema(schema: z.ZodType): Record<string, unknown> {
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return { $ref: toReference(id) }
  return documentedAs(schema)
}

function toReference(name: string): string {
  return `#/components/schemas/${name}`
}
