import { z } from 'zod'
import { check, createConstant, createOutput, NOTHING, toEvents, type Received } from './received.ts'

const Item = z.discriminatedUnion('type', [
  z.object({ type: z.literal('reasoning'), summary: z.array(z.object({ text: z.string() })) }),
  z.object({ type: z.literal('message'), content: z.array(z.object({ text: z.string() })) }),
  z.object({ type: z.literal('function_call'), name: z.string(), arguments: z.string() }),
])

const ResponseObject = z.object({
  id: z.string(),
  status: z.string(),
  output: z.array(Item),
  usage: z
    .object({
      input_tokens: z.int(),
      input_tokens_details: z.object({ cached_tokens: z.int() }),
      output_tokens: z.int(),
      output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    })
    .transform((usage) => ({
      prompt: usage.input_tokens,
      cached: usage.input_tokens_details.cached_tokens,
      completion: usage.output_tokens,
      reasoning: usage.output_tokens_details.reasoning_tokens,
    }))
    .nullish(),
})

const Event = z.object({
  type: z.string(),
  sequence_number: z.int(),
  output_index: z.int().optional(),
  delta: z.string().optional(),
  text: z.string().optional(),
  arguments: z.string().optional(),
  item: z.object({ type: z.string() }).optional(),
  response: z.unknown().optional(),
  error: z.object({ code: z.string() }).optional(),
})

/** Reads a Responses stream of either set of events, and compares its deltas with the final response. */
export function readResponseStream(body: string): Received {
  const deltas = createOutput()
  const done = createOutput()
  const sameId = createConstant('the id')
  let last: Received = NOTHING
  let next = 0
  for (const text of toEvents(body)) {
    check(!last.ended, `an event after the last one: ${text}`)
    const event = Event.parse(JSON.parse(text))
    check(event.sequence_number === next, `event ${event.sequence_number} comes where ${next} should`)
    next += 1
    const place = `${kindOf(event.type)} ${event.output_index}`
    if (event.type.endsWith('.delta')) deltas.add(place, event.delta ?? '')
    if (DONE.test(event.type)) {
      done.add(place, event.text ?? event.arguments ?? '')
      check((deltas.output[place] ?? '') === done.output[place], `the deltas of ${place} are not its text`)
    }
    if (event.type === 'response.failed')
      last = { ...NOTHING, error: event.error?.code ?? 'none', ended: true }
    if (event.type !== 'response.completed') continue
    const response = ResponseObject.parse(event.response)
    sameId(response.id)
    last = toReceived(response)
    for (const [part, given] of Object.entries(deltas.output)) {
      check(given === textAt(response, part), `the deltas of ${part} are not in the response`)
    }
  }
  return last.finish === null ? { ...last, output: partsOf(deltas.output) } : last
}

const DONE = /output_text\.done|function_call_arguments\.done|reasoning_summary_text\.done/u

function kindOf(type: string): string {
  if (type.includes('reasoning')) return 'reasoning'
  return type.includes('function_call') ? 'call' : 'text'
}

/** Returns the texts of an interrupted stream by kind (`reasoning`, `text`), without calls. */
function partsOf(output: Readonly<Record<string, string>>): Record<string, string> {
  const parts = createOutput()
  for (const [place, text] of Object.entries(output)) {
    const kind = place.split(' ')[0] ?? ''
    // The name of a call is only in its item.
    if (kind !== 'call') parts.add(kind, text)
  }
  return parts.output
}

function textAt({ output }: z.infer<typeof ResponseObject>, place: string): string | undefined {
  const item = output[Number(place.split(' ')[1])]
  if (item === undefined) return undefined
  return item.type === 'function_call' ? item.arguments : textOf(item)
}

export function readResponseObject(body: string): Received {
  return body === '' ? NOTHING : toReceived(ResponseObject.parse(JSON.parse(body)))
}

function toReceived({ status, output, usage = null }: z.infer<typeof ResponseObject>): Received {
  const parts = createOutput()
  let calls = 0
  for (const item of output) {
    if (item.type === 'function_call') {
      parts.add(`call ${calls} ${item.name}`, item.arguments)
      calls += 1
    } else {
      parts.add(item.type === 'message' ? 'text' : 'reasoning', textOf(item))
    }
  }
  return { output: parts.output, finish: status, usage, error: null, ended: true }
}

function textOf(item: Exclude<z.infer<typeof Item>, { type: 'function_call' }>): string {
  return (item.type === 'message' ? item.content : item.summary).map(({ text }) => text).join('')
}
