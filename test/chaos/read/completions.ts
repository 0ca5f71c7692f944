import { z } from 'zod'
import { check, createConstant, createOutput, NOTHING, toEvents, type Received } from './received.ts'

const Choices = z.tuple([z.object({ text: z.string(), finish_reason: z.string().nullable() })])
const Chunk = z.object({ id: z.string(), choices: Choices })
const ErrorEvent = z.object({ error: z.object({ code: z.string() }) })

/** Reads a legacy completion stream, which has no usage. */
export function readCompletionStream(body: string): Received {
  const { output, add } = createOutput()
  const sameId = createConstant('the id')
  let state: Omit<Received, 'output'> = NOTHING
  for (const event of toEvents(body)) {
    check(!state.ended, `an event after the last one: ${event}`)
    if (event === '[DONE]') {
      check(state.error !== null || state.finish !== null, 'the stream ends without a finish')
      state = { ...state, ended: true }
      continue
    }
    const data: unknown = JSON.parse(event)
    const failed = ErrorEvent.safeParse(data)
    if (failed.success) {
      state = { ...state, error: failed.data.error.code }
      continue
    }
    const {
      id,
      choices: [{ text, finish_reason }],
    } = Chunk.parse(data)
    sameId(id)
    check(state.finish === null && state.error === null, `a chunk after the finish: ${event}`)
    if (text !== '') add('text', text)
    if (finish_reason !== null) state = { ...state, finish: finish_reason }
  }
  return { ...state, output }
}

const CompletionObject = z.object({
  choices: z.tuple([z.object({ text: z.string(), finish_reason: z.string() })]),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int() }),
})

export function readCompletionObject(body: string): Received {
  if (body === '') return NOTHING
  const {
    choices: [{ text, finish_reason }],
  } = CompletionObject.parse(JSON.parse(body))
  return { output: { text }, finish: finish_reason, usage: null, error: null, ended: true }
}
