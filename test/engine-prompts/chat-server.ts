import { z } from 'zod'
import type { ChatMessage, ToolCall } from '#libs/contracts/generation-request.ts'

/** One request of a comparison. For an absent field, the server's default applies. */
export type Ask = {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ApiTool[]
  /** The tool that the model must call. */
  readonly forced?: string
  readonly stop?: string
  readonly maxTokens: number
}

export type ApiTool = {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

export type Answer =
  | {
      readonly status: 'answered'
      readonly promptTokens: number
      readonly finish: string
      readonly content: string
      readonly calls: readonly ToolCall[]
    }
  | { readonly status: 'refused'; readonly reason: string }

export type ChatServer = { ask(request: Ask): Promise<Answer> }

const TIMEOUT_MS = 120_000

const Completion = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string(),
        message: z.object({
          content: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.int() }),
})

/**
 * Returns a client of a server with OpenAI's chat completions. The fields of `body` are added to every request. The
 * temperature is 0, so that an engine gives the same answer each time. A call rejects if the server fails; a status of
 * 400 is an answer.
 */
export function openChatServer(options: {
  readonly baseUrl: string
  readonly apiKey?: string
  readonly body: Readonly<Record<string, unknown>>
}): ChatServer {
  return {
    async ask(request) {
      const response = await fetch(`${options.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(options.apiKey !== undefined && { authorization: `Bearer ${options.apiKey}` }),
        },
        body: JSON.stringify({ ...toBody(request), ...options.body }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      const text = await response.text()
      if (response.status === 400) return { status: 'refused', reason: toReason(text) }
      if (!response.ok)
        throw new Error(`${options.baseUrl} answered ${response.status}: ${text.slice(0, 500)}`)
      return toAnswer(Completion.parse(JSON.parse(text)))
    },
  }
}

function toBody({ messages, tools, forced, stop, maxTokens }: Ask): object {
  return {
    messages: messages.map(toApiMessage),
    ...(tools !== undefined && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...(forced !== undefined && { tool_choice: { type: 'function', function: { name: forced } } }),
    ...(stop !== undefined && { stop: [stop] }),
    max_completion_tokens: maxTokens,
    temperature: 0,
  }
}

function toApiMessage(message: ChatMessage): object {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content }
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, content: message.content }
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content,
        ...(message.toolCalls.length > 0 && {
          tool_calls: message.toolCalls.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
          })),
        }),
      }
  }
}

function toAnswer({ choices, usage }: z.infer<typeof Completion>): Answer {
  const [choice] = choices
  return {
    status: 'answered',
    promptTokens: usage.prompt_tokens,
    finish: choice?.finish_reason ?? '',
    content: choice?.message.content ?? '',
    calls: (choice?.message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      arguments: text,
    })),
  }
}

const Refusal = z.object({ error: z.object({ message: z.string() }) })

function toReason(text: string): string {
  const refusal = Refusal.safeParse(JSON.parse(text))
  return refusal.success ? refusal.data.error.message : text
}
