import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text as readText } from 'node:stream/consumers'
import { z } from 'zod'
import { CommandError } from './command-error.ts'
import type { Access } from './find-access.ts'

const ROOT = '/admin/v1'

/** How long billing may say nothing: its database has less. */
const PATIENCE_MS = 60_000

/** What is undefined is not sent. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export type Ask = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** Below `/admin/v1`: see `pathOf`. */
  readonly path: string
  readonly query?: Query
  readonly body?: object
  readonly patienceMs?: number
}

/** Billing's operators' interface. Everything throws a CommandError, with the words of billing where it has some. */
export type Admin = {
  /** The JSON value that it answers. */
  ask(asked: Ask): Promise<unknown>
  /** The answer as it arrives. Reading it throws when it is cut off. */
  open(asked: Ask): Promise<AsyncIterable<string>>
}

export function createAdmin({ url, token }: Access): Admin {
  async function open(asked: Ask): Promise<IncomingMessage> {
    const target = new URL(url.replace(/\/+$/, '') + ROOT + asked.path)
    for (const [name, value] of Object.entries(asked.query ?? {})) {
      if (value !== undefined) target.searchParams.set(name, String(value))
    }
    const response = await send(target, token, asked)
    response.setEncoding('utf8')
    const status = response.statusCode ?? 0
    if (status >= 200 && status < 300) return response
    throw toFailure(url, status, await readAll(url, response))
  }
  return {
    open,
    async ask(asked) {
      const body = await readAll(url, await open(asked))
      const answer = parseJson(body)
      if (answer === undefined) throw new CommandError('unreachable', `${url} did not answer with JSON.`)
      return answer
    },
  }
}

/** A path whose values cannot become other paths: pathOf`/keys/${key}`. */
export function pathOf(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent))
}

/** Throws a CommandError for an answer of a billing that is too new, or of something else. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, answer: unknown): z.output<Schema> {
  const result = schema.safeParse(answer)
  if (result.success) return result.data
  const problem =
    'Billing answered something that this version of the command line does not know; see --json.'
  throw new CommandError('unreachable', problem, { cause: result.error })
}

/**
 * Not fetch: it gives up on answers that begin after five minutes, and to compare whole books may take longer.
 */
async function send(target: URL, token: string, asked: Ask): Promise<IncomingMessage> {
  const { method, body, patienceMs = PATIENCE_MS } = asked
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const request = target.protocol === 'https:' ? requestHttps : requestHttp
  const outgoing = request(target, { method, headers })
  outgoing.setTimeout(patienceMs, () => {
    outgoing.destroy(new Error(`it said nothing for ${patienceMs / 1_000} s`))
  })
  outgoing.on('response', resolve)
  outgoing.on('error', reject)
  outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  try {
    return await promise
  } catch (error) {
    throw toUnreachable(target.origin, error)
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
  return new CommandError('unreachable', `${url} does not answer: ${tellWhy(error)}`, { cause: error })
}

/** A name with several addresses fails with an AggregateError, whose own message is empty. */
function tellWhy(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(tellWhy).join(', ')
  return error instanceof Error ? error.message : String(error)
}

const Refusal = z.object({ error: z.object({ message: z.string(), code: z.string() }) })

function toFailure(url: string, status: number, body: string): CommandError {
  const refusal = Refusal.safeParse(parseJson(body))
  if (!refusal.success) {
    return new CommandError('unreachable', `${url} answered ${status}, but not as billing does.`)
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
