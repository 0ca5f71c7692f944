import { z } from 'zod'
import { CommandError } from '../command-error.ts'
import { readEvents } from '../read-events.ts'
import type { ClientAccess } from './find-client-access.ts'

const ErrorAnswer = z.object({ error: z.object({ message: z.string() }) })
const Chunk = z.object({
  id: z.string(),
  choices: z.array(
    z.object({ delta: z.object({ content: z.string().nullish(), reasoning_content: z.string().nullish() }) }),
  ),
})
const Models = z.object({ data: z.array(z.object({ id: z.string() })) })
const ReceiptAnswer = z.object({
  data: z.object({
    id: z.string(),
    status: z.string(),
    waited_ms: z.number().nullable(),
    latency: z.number().nullable(),
    generation_time: z.number().nullable(),
    tokens_prompt: z.number().nullable(),
    tokens_completion: z.number().nullable(),
    finish_reason: z.string().nullable(),
    nano: z.object({ total_cost: z.string().nullable() }),
  }),
})
export type ChatReceipt = z.infer<typeof ReceiptAnswer>['data']

export type ChatMessage = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }
export type ChatPiece = { readonly kind: 'thinking' | 'text'; readonly text: string }

/** A gateway, as a client of the API sees it. Every function throws a CommandError with the gateway's message. */
export type GatewayClient = {
  models(): Promise<string[]>
  /** Yields the answer in pieces. `onId` is called with the id of the request before the first piece. */
  chat(
    body: { model: string; messages: readonly ChatMessage[]; reasoning_effort?: string },
    options: { signal: AbortSignal; onId: (id: string) => void },
  ): AsyncGenerator<ChatPiece>
  /** Returns null if there is no receipt. */
  receipt(id: string): Promise<ChatReceipt | null>
}

/** The time limit of answers that are not streamed. */
const READ_MS = 10_000

export function createGatewayClient({ baseUrl, apiKey }: ClientAccess): GatewayClient {
  async function ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    try {
      return await fetch(`${baseUrl}${path}`, { ...init, headers })
    } catch (error) {
      if (init.signal?.aborted === true) throw error
      throw new CommandError('unreachable', `${baseUrl} does not answer.`, { cause: error })
    }
  }

  async function read<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.infer<Schema>> {
    const response = await ask(path, { signal: AbortSignal.timeout(READ_MS) })
    if (!response.ok) throw await toError(response)
    return schema.parse(await response.json())
  }

  return {
    async models() {
      return (await read('/models', Models)).data.map(({ id }) => id)
    },
    async *chat(body, { signal, onId }) {
      const response = await ask('/chat/completions', {
        method: 'POST',
        body: JSON.stringify({ ...body, stream: true }),
        signal,
      })
      if (!response.ok || response.body === null) throw await toError(response)
      // The header has the request's id before the first chunk arrives. This id finds the receipt as well.
      const requestId = response.headers.get('x-request-id')
      if (requestId !== null) onId(requestId)
      for await (const { data } of readEvents(response.body)) {
        if (data === '[DONE]') return
        const value: unknown = JSON.parse(data)
        const failure = ErrorAnswer.safeParse(value)
        if (failure.success) throw new CommandError('refused', failure.data.error.message)
        for (const { delta } of Chunk.parse(value).choices) {
          if (delta.reasoning_content) yield { kind: 'thinking', text: delta.reasoning_content }
          if (delta.content) yield { kind: 'text', text: delta.content }
        }
      }
    },
    async receipt(id) {
      const response = await ask(`/generation?id=${encodeURIComponent(id)}`, {
        signal: AbortSignal.timeout(READ_MS),
      })
      if (response.status === 404) return null
      if (!response.ok) throw await toError(response)
      return ReceiptAnswer.parse(await response.json()).data
    },
  }
}

async function toError(response: Response): Promise<CommandError> {
  const text = await response.text()
  const body = ErrorAnswer.safeParse(parseJson(text))
  const problem = body.success ? body.data.error.message : `HTTP ${response.status}`
  const wait = response.headers.get('retry-after')
  return new CommandError('refused', wait === null ? problem : `${problem} Try again in ${wait} s.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
