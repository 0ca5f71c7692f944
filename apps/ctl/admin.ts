import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import type { z } from 'zod'
import { AdminErrorBody } from '#libs/admin-contract/admin-errors.ts'
import { toAdminRequest, type AdminRequest } from '#libs/admin-contract/admin-request.ts'
import type { AnsweringOperation, Operation } from '#libs/admin-contract/operation.ts'
import { CommandError } from './command-error.ts'
import type { Access } from './find-access.ts'

/** The longest pause in an answer of billing. Billing's database statements have shorter limits. */
const SILENCE_MS = 60_000

/** The input of an operation as an operator gave it; billing validates it. Undefined fields are not sent. */
export type Given = Readonly<Record<string, unknown>>

/** Billing's admin interface. Every function throws a CommandError, with billing's message if it sent one. */
export type Admin = {
  /** Returns the answer as JSON, not validated. */
  ask(operation: AnsweringOperation, given: Given, options?: { silenceMs?: number }): Promise<unknown>
  /** Returns the answer as it arrives. Reading throws if the answer is cut off. */
  open(operation: Operation, given: Given): Promise<AsyncIterable<string>>
}

export function createAdmin({ url, token }: Access): Admin {
  async function open(operation: Operation, given: Given, silenceMs = SILENCE_MS): Promise<IncomingMessage> {
    const response = await send({ url, token, silenceMs }, toAdminRequest(operation, given))
    response.setEncoding('utf8')
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return response
    throw toFailure(url, status, await readAll(url, response))
  }
  return {
    open: async (operation, given) => await open(operation, given),
    async ask(operation, given, { silenceMs } = {}) {
      const body = await readAll(url, await open(operation, given, silenceMs))
      const answer = parseJson(body)
      if (answer === undefined) throw new CommandError('unreachable', `${url} did not answer with JSON.`)
      return answer
    },
  }
}

/** Throws a CommandError for an answer that does not match the operation's schema. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const result = schema.safeParse(answer)
  if (result.success) return result.data
  const problem = 'The answer of billing does not fit this version of the command line.'
  throw new CommandError('unreachable', problem, { cause: result.error })
}

/**
 * Sends a request and returns the response when it begins. Throws a CommandError if there is none. Uses `node:http`,
 * because fetch gives up if a response does not begin within five minutes, and a whole reconciliation may take longer.
 */
async function send(
  { url, token, silenceMs }: Access & { silenceMs: number },
  { method, target, body }: AdminRequest,
): Promise<IncomingMessage> {
  const address = new URL(url.replace(/\/+$/, '') + target)
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const request = address.protocol === 'https:' ? requestHttps : requestHttp
  const outgoing = request(address, { method, headers })
  outgoing.setTimeout(silenceMs, () => {
    outgoing.destroy(new Error(`it sent nothing for ${silenceMs / 1_000} s`))
  })
  outgoing.on('response', resolve)
  outgoing.on('error', reject)
  outgoing.end(body)
  try {
    return await promise
  } catch (error) {
    throw toUnreachable(address.origin, error)
  }
}

async function readAll(url: string, response: IncomingMessage): Promise<string> {
  try {
    return await readText(response)
  } catch (error) {
    throw toUnreachable(url, error)
  }
}

function toUnreachable(url: string, error: unknown): CommandError {
  return new CommandError('unreachable', `${url} does not answer: ${toReason(error)}`, { cause: error })
}

/**
 * Returns an error's message. If a host name has several addresses and none can be reached, the error is an
 * AggregateError. It has no message of its own, so the messages of its errors are joined.
 */
function toReason(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(toReason).join(', ')
  return error instanceof Error ? error.message : String(error)
}

function toFailure(url: string, status: number, body: string): CommandError {
  const refusal = AdminErrorBody.safeParse(parseJson(body))
  if (!refusal.success) {
    return new CommandError('unreachable', `${url} answered ${status}, and not with an error of billing.`)
  }
  const { message, code } = refusal.data.error
  return new CommandError(code === 'unavailable' ? 'unreachable' : 'refused', `${message} (${code})`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
