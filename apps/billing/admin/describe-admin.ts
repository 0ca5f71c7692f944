import { z } from 'zod'
import { ADMIN, ADMIN_ROOT } from '#libs/admin-contract/admin-contract.ts'
import { ADMIN_ERRORS, AdminErrorBody, type AdminErrorCode } from '#libs/admin-contract/admin-errors.ts'
import type { Operation } from '#libs/admin-contract/operation.ts'
import { describeDocument, toReference } from '#libs/http-contract/describe-document.ts'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'

const ABOUT = `Accounts, keys, credits and the books of one Millrace, for its operators and their tools.

Amounts are whole nano-credits (10⁻⁹ credit) as text. Times and days are UTC. Lists come in pages: repeat the request
with nextCursor as its cursor until nextCursor is null. Every change is in the audit log.`

/** The errors that every operation may return. */
const COMMON_ERRORS = [
  'invalid_request',
  'invalid_token',
  'forbidden',
  'internal_error',
  'unavailable',
] as const

/** Describes the admin interface's contract as an OpenAPI 3.1 document. */
export function describeAdmin() {
  return describeDocument({
    title: 'Millrace for operators',
    about: ABOUT,
    root: ADMIN_ROOT,
    scheme: { name: 'token', description: 'A credential of this interface.' },
    operations: Object.entries<Operation>(ADMIN).map(([id, operation]) => ({
      path: operation.path,
      method: operation.method,
      described: { operationId: id, ...describeOperation(operation) },
    })),
    registry: z.globalRegistry,
  })
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

/** Groups the codes by status, because several codes may share one. */
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

/** Returns a reference if the schema has an id, else the schema. */
function toSchema(schema: z.ZodType): Record<string, unknown> {
  const id = z.globalRegistry.get(schema)?.id
  if (id !== undefined) return { $ref: toReference(id) }
  return documentedAs(schema)
}
