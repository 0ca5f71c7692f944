import type { ErrorBody } from './chat.ts'

export type StreamedAnswer = {
  text: string
  reasoning: string
  /** The names and arguments of the tool calls, by index. */
  calls: string[]
  /** The log probabilities of all tokens; absent if the stream had none. */
  logprobs?: unknown[]
  finishReason: string | null
  /** The content of an error event; null if the stream had none. */
  streamError: ErrorBody | null
  promptTokens: number
  cachedTokens: number
  completionTokens: number
}

type Delta = {
  content?: string
  reasoning_content?: string
  tool_calls?: { index: number; function?: { name?: string; arguments?: string } }[]
}

type Chunk = {
  error?: ErrorBody
  choices?: {
    index: number
    delta: Delta
    logprobs?: { content: unknown[] } | null
    finish_reason: string | null
  }[]
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details?: { cached_tokens: number }
  } | null
}

/** Reads a whole chat completion stream with several answers. Each answer has the usage of the request. */
export function readChoices(received: string): StreamedAnswer[] {
  const events = received.split('\n\n').filter((event) => event.startsWith('data: '))
  const indexOf = (event: string) => {
    const chunk: Chunk = event === DONE ? {} : JSON.parse(event.slice('data: '.length))
    return chunk.choices?.[0]?.index ?? null
  }
  const indexes = events.map(indexOf)
  const choices = Math.max(0, ...indexes.map((index) => index ?? 0)) + 1
  return Array.from({ length: choices }, (_, choice) => {
    const own = events.filter((_event, at) => indexes[at] === null || indexes[at] === choice)
    return readEvents(own.join('\n\n'))
  })
}

const DONE = 'data: [DONE]'

/** Reads a whole chat completion stream, which must end with `[DONE]`. */
export function readEvents(received: string): StreamedAnswer {
  const answer: StreamedAnswer = {
    text: '',
    reasoning: '',
    calls: [],
    finishReason: null,
    streamError: null,
    promptTokens: 0,
    cachedTokens: 0,
    completionTokens: 0,
  }
  const events = received.split('\n\n').filter((event) => event.startsWith('data: '))
  if (events.pop() !== DONE) throw new Error(`a stream without [DONE]: ${received.slice(-200)}`)
  for (const event of events) {
    const chunk: Chunk = JSON.parse(event.slice('data: '.length))
    const [choice] = chunk.choices ?? []
    answer.text += choice?.delta.content ?? ''
    answer.reasoning += choice?.delta.reasoning_content ?? ''
    for (const call of choice?.delta.tool_calls ?? []) {
      const { name = '', arguments: text = '' } = call.function ?? {}
      answer.calls[call.index] = (answer.calls[call.index] ?? '') + name + text
    }
    const logprobs = choice?.logprobs?.content ?? []
    if (logprobs.length > 0) answer.logprobs = [...(answer.logprobs ?? []), ...logprobs]
    answer.finishReason = choice?.finish_reason ?? answer.finishReason
    answer.streamError = chunk.error ?? answer.streamError
    answer.promptTokens += chunk.usage?.prompt_tokens ?? 0
    answer.cachedTokens += chunk.usage?.prompt_tokens_details?.cached_tokens ?? 0
    answer.completionTokens += chunk.usage?.completion_tokens ?? 0
  }
  return answer
}
