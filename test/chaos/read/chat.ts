import { z } from 'zod'
import { check, createConstant, createOutput, NOTHING, toEvents, type Received } from './received.ts'

const ErrorBody = z.object({ code: z.string() })

const ChatUsage = z
  .object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
  })
  .transform((usage) => ({
    prompt: usage.prompt_tokens,
    cached: usage.prompt_tokens_details.cached_tokens,
    completion: usage.completion_tokens,
    reasoning: usage.completion_tokens_details.reasoning_tokens,
  }))

const CallDelta = z.object({
  index: z.int(),
  id: z.string().optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string() }),
})

const Chunk = z.object({
  id: z.string(),
  choices: z.array(
    z.object({
      delta: z.object({
        role: z.string().optional(),
        content: z.string().nullish(),
        reasoning_content: z.string().optional(),
        tool_calls: z.array(CallDelta).optional(),
      }),
      finish_reason: z.string().nullable(),
    }),
  ),
  usage: ChatUsage.nullish(),
})

/** Reads a chat completion stream with usage. */
export function readChatStream(body: string): Received {
  const { output, add } = createOutput()
  const sameId = createConstant('the id')
  let state: Omit<Received, 'output'> = NOTHING
  let begun = false
  const calls: string[] = []

  function readCall({ index, id, function: { name, arguments: text } }: z.infer<typeof CallDelta>) {
    if (name !== undefined) {
      check(index === calls.length, `call ${index} begins after ${calls.length} calls`)
      check(id !== undefined && id !== '', 'a call begins without an id')
      calls.push(`call ${index} ${name}`)
    }
    const part = calls[index]
    check(part !== undefined, `arguments of call ${index}, which has not begun`)
    add(part ?? '', text)
  }

  for (const event of toEvents(body)) {
    check(!state.ended, `an event after the last one: ${event}`)
    if (event === '[DONE]') {
      check(state.error !== null || state.usage !== null, 'the stream ends without usage')
      state = { ...state, ended: true }
      continue
    }
    const data: unknown = JSON.parse(event)
    const failed = z.object({ error: ErrorBody }).safeParse(data)
    if (failed.success) {
      state = { ...state, error: failed.data.error.code }
      continue
    }
    const chunk = Chunk.parse(data)
    sameId(chunk.id)
    check(state.error === null && state.usage === null, `a chunk after the error or the usage: ${event}`)
    if (chunk.usage != null) {
      check(state.finish !== null, 'the usage comes before the finish')
      state = { ...state, usage: chunk.usage }
    }
    for (const { delta, finish_reason } of chunk.choices) {
      check(state.finish === null, `a delta after the finish: ${event}`)
      check((delta.role !== undefined) !== begun, `the role is sent first, and once: ${event}`)
      begun = true
      if (delta.content) add('text', delta.content)
      if (delta.reasoning_content !== undefined) add('reasoning', delta.reasoning_content)
      delta.tool_calls?.forEach(readCall)
      if (finish_reason !== null) state = { ...state, finish: finish_reason }
    }
  }
  return { ...state, output }
}

const ChatObject = z.object({
  choices: z.tuple([
    z.object({
      message: z.object({
        content: z.string().nullable(),
        reasoning_content: z.string().optional(),
        tool_calls: z
          .array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) }))
          .optional(),
      }),
      finish_reason: z.string(),
    }),
  ]),
  usage: ChatUsage,
})

export function readChatObject(body: string): Received {
  if (body === '') return NOTHING
  const {
    choices: [{ message, finish_reason }],
    usage,
  } = ChatObject.parse(JSON.parse(body))
  const { output, add } = createOutput()
  if (message.reasoning_content) add('reasoning', message.reasoning_content)
  if (message.content) add('text', message.content)
  message.tool_calls?.forEach((call, index) =>
    add(`call ${index} ${call.function.name}`, call.function.arguments),
  )
  return { output, finish: finish_reason, usage, error: null, ended: true }
}
