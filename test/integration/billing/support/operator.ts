import type { FastifyInstance } from 'fastify'
import { expect } from 'vitest'
import { z } from 'zod'

export type Asked = { status: number; body: unknown }

/** What tests do as an operator, through the operators' interface; `ask` also sees refusals. */
export type Operator = ReturnType<typeof createOperator>

export function createOperator(app: FastifyInstance, token: string) {
  async function ask(method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object): Promise<Asked> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const url = `/admin/v1${path}`
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) })
    const isJson = response.headers['content-type']?.toString().split(';')[0] === 'application/json'
    return { status: response.statusCode, body: isJson ? response.json() : response.body }
  }

  async function demand<Answer>(answer: z.ZodType<Answer>, asked: Promise<Asked>): Promise<Answer> {
    const { status, body } = await asked
    if (status >= 400) throw new Error(`refused with ${status}: ${JSON.stringify(body)}`)
    return answer.parse(body)
  }

  return {
    ask,
    async createAccount(): Promise<string> {
      return (await demand(WithId, ask('POST', '/accounts', { name: 'test' }))).id
    },
    async topUp(account: string, { nano, idempotencyKey }: { nano: bigint; idempotencyKey: string }) {
      const body = { amountNano: nano.toString(), idempotencyKey, reason: 'test' }
      await demand(WithId, ask('POST', `/accounts/${account}/topups`, body))
    },
    async createKey(account: string, limits: object = {}): Promise<{ keyId: string; secret: string }> {
      const { id, secret } = await demand(NewKey, ask('POST', `/accounts/${account}/keys`, limits))
      return { keyId: id, secret }
    },
    async revokeKey(key: string) {
      await demand(WithId, ask('POST', `/keys/${key}/revoke`))
    },
    async balance(account: string) {
      return await demand(Balance, ask('GET', `/accounts/${account}`))
    },
    async reconcile() {
      return (await demand(Reconciliation, ask('GET', '/reconciliation?whole=true'))).counts
    },
  }
}

/** The error object, whatever its message says. */
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

const WithId = z.object({ id: z.string() })
const NewKey = z.object({ id: z.string(), secret: z.string() })
const Nano = z.string().transform(BigInt)
const Balance = z
  .object({ postedNano: Nano, heldNano: Nano, openHolds: z.int() })
  .transform(({ postedNano, heldNano, openHolds }) => ({ posted: postedNano, held: heldNano, openHolds }))
const Reconciliation = z.object({ counts: z.array(z.object({ question: z.string(), rows: z.int() })) })
