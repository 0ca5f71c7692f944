import type { z } from 'zod'
import { toAdminRequest } from './admin-request.ts'
import type { AnswerOf, AnsweringOperation, InputOf } from './operation.ts'

const LIMIT_MS = 10_000

export type AdminClient = {
  /** Returns the parsed answer. Throws an error with billing's text if billing refuses the request. */
  call<Op extends AnsweringOperation>(operation: Op, input: InputOf<Op>): Promise<AnswerOf<Op>>
  /** As `call`, but returns null if the resource does not exist. */
  find<Op extends AnsweringOperation>(operation: Op, input: InputOf<Op>): Promise<AnswerOf<Op> | null>
}

/** Creates a client of the admin interface at `url`. Each call fails after 10 s. */
export function createAdminClient({ url, token }: { url: string; token: string }): AdminClient {
  async function send<Op extends AnsweringOperation>(operation: Op, input: InputOf<Op>) {
    const { method, target, body } = toAdminRequest(operation, input)
    const response = await fetch(url + target, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(LIMIT_MS),
      ...(body === undefined ? {} : { body }),
    })
    return { target, status: response.status, text: await response.text() }
  }
  return {
    async call<Op extends AnsweringOperation>(operation: Op, input: InputOf<Op>) {
      return read<Op['answer']>(operation.answer, await send(operation, input))
    },
    async find<Op extends AnsweringOperation>(operation: Op, input: InputOf<Op>) {
      const answered = await send(operation, input)
      return answered.status === 404 ? null : read<Op['answer']>(operation.answer, answered)
    },
  }
}

function read<Schema extends z.ZodType>(
  schema: Schema,
  { target, status, text }: { target: string; status: number; text: string },
): z.output<Schema> {
  if (status >= 400) throw new Error(`billing answered ${status} to ${target}: ${text}`)
  return schema.parse(JSON.parse(text))
}
