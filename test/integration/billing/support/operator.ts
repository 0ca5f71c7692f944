import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { expect } from 'vitest'
import type { z } from 'zod'
import { ADMIN, ADMIN_ROOT } from '#libs/admin-contract/admin-contract.ts'
import { toAdminRequest } from '#libs/admin-contract/admin-request.ts'
import type { AnsweringOperation } from '#libs/admin-contract/operation.ts'
import type { Role } from '#libs/admin-contract/roles.ts'

export type Asked = { status: number; body: unknown }

/** An operator of the admin interface. `ask` sends any request, valid or not, and returns refusals too. */
export type Operator = ReturnType<typeof createOperator>

export function createOperator(app: FastifyInstance, token: string) {
  async function ask(method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object): Promise<Asked> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const url = `${ADMIN_ROOT}${path}`
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) })
    const isJson = response.headers['content-type']?.toString().split(';')[0] === 'application/json'
    return { status: response.statusCode, body: isJson ? response.json() : response.body }
  }

  /** Returns the parsed answer of an operation. Throws for a refusal. */
  async function call<Op extends AnsweringOperation>(
    operation: Op,
    input: Readonly<Record<string, unknown>>,
  ): Promise<z.output<Op['answer']>> {
    const { method, target, body: payload } = toAdminRequest(operation, input)
    const headers = { authorization: `Bearer ${token}` }
    const response = await app.inject({ method, url: target, headers, ...(payload && { payload }) })
    if (response.statusCode >= 400) throw new Error(`refused with ${response.statusCode}: ${response.body}`)
    return parse<Op['answer']>(operation.answer, response.json())
  }

  return {
    ask,
    call,
    async createAccount(): Promise<string> {
      return (await call(ADMIN.createAccount, { name: 'test' })).id
    },
    async topUp(account: string, { nano, idempotencyKey }: { nano: bigint; idempotencyKey: string }) {
      await call(ADMIN.topUp, { account, amountNano: nano.toString(), idempotencyKey, reason: 'test' })
    },
    async createKey(account: string, limits: object = {}): Promise<{ keyId: string; secret: string }> {
      const { id, secret } = await call(ADMIN.createKey, { account, ...limits })
      return { keyId: id, secret }
    },
    async revokeKey(key: string) {
      await call(ADMIN.revokeKey, { key })
    },
    async balance(account: string) {
      const { postedNano, heldNano, openHolds } = await call(ADMIN.readAccount, { account })
      return { posted: BigInt(postedNano), held: BigInt(heldNano), openHolds }
    },
    async reconcile() {
      return (await call(ADMIN.reconcile, { whole: 'true' })).counts
    },
  }
}

/** Creates a credential with a role, and returns it with an operator who calls with its token. */
export async function signUp(
  { admin, operator }: { readonly admin: FastifyInstance; readonly operator: Operator },
  role: Role,
): Promise<{ id: string; token: string; operator: Operator }> {
  const name = `${role} ${randomUUID()}`
  const { id, token } = await operator.call(ADMIN.createCredential, { name, role })
  return { id, token, operator: createOperator(admin, token) }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  return schema.parse(value)
}

/** Returns the error object of a refusal, with any message. */
export function refusal(code: string, param?: string) {
  return {
    error: {
      message: expect.any(String),
      type: 'api_error',
      code,
      ...(param === undefined ? {} : { param }),
    },
  }
}
