import { z } from 'zod'
import { ResponseObject } from '#apps/gateway/endpoints/responses/response-object.ts'
import { createResponseEvents } from '#apps/gateway/endpoints/responses/to-events.ts'
import { toObject } from '#apps/gateway/endpoints/responses/to-object.ts'
import { collect } from '#apps/gateway/generation/output/collect.ts'
import type { OutputEvent } from '#apps/gateway/generation/request/generation-call.ts'
import { createResponsesAnswer } from './responses-answer.ts'

export type EventSet = 'spec' | 'full'

const usage = { promptTokens: 5, cachedTokens: 2, completionTokens: 4, reasoningTokens: 1 }
export const end = (finishReason: 'stop' | 'length' | 'tool-calls' = 'stop'): OutputEvent => ({
  type: 'generation-end',
  finishReason,
  usage,
})
export const text = (value: string): OutputEvent => ({ type: 'text-delta', text: value })
export const tokens = (...texts: string[]): OutputEvent => ({
  type: 'token-logprobs',
  tokens: texts.map((token) => ({ token, logprob: -0.5, top: [{ token, logprob: -0.5 }] })),
})
export const thought = (value: string): OutputEvent => ({ type: 'reasoning-delta', text: value })
export const call = (index: number): OutputEvent => ({
  type: 'tool-call-start',
  index,
  id: `call_${index}`,
  name: 'f',
})
export const args = (index: number, value: string): OutputEvent => ({
  type: 'tool-call-delta',
  index,
  text: value,
})

export const ERROR = { message: 'm', type: 'api_error', code: 'model_unavailable' } as const

const ANSWERS = {
  spec: createResponsesAnswer({ 'x-responses-events': 'spec' }),
  full: createResponsesAnswer({ 'x-responses-events': 'full' }),
}
export const answerOf = (eventSet: EventSet) => ANSWERS[eventSet]

export function render(eventSet: EventSet, ...batches: OutputEvent[][]) {
  const events = createResponseEvents(answerOf(eventSet))
  return batches.map((batch) => events.render(batch)).join('')
}

const Logprobs = z.array(z.looseObject({ token: z.string() })).optional()

const Event = z.looseObject({
  type: z.string(),
  sequence_number: z.int(),
  item_id: z.string().optional(),
  output_index: z.int().optional(),
  delta: z.string().optional(),
  logprobs: Logprobs,
  text: z.string().optional(),
  arguments: z.string().optional(),
  item: z.looseObject({ id: z.string(), type: z.string(), status: z.string() }).optional(),
  part: z.looseObject({ text: z.string(), logprobs: Logprobs }).optional(),
  response: z
    .looseObject({ id: z.string(), status: z.string(), output: z.array(z.looseObject({ id: z.string() })) })
    .optional(),
})
export type Event = z.infer<typeof Event>

export function read(stream: string): Event[] {
  if (!stream.endsWith('\n\n')) throw new Error(`an incomplete event: ${stream.slice(-200)}`)
  return stream
    .slice(0, -2)
    .split('\n\n')
    .map((text) => {
      const lines = text.split('\n')
      const event = Event.parse(JSON.parse(lines.at(-1)?.slice('data: '.length) ?? ''))
      if (lines.length > 1 && lines[0] !== `event: ${event.type}`)
        throw new Error(`a wrong event name: ${text}`)
      return event
    })
}

export const typesOf = (events: Event[]) => events.map((event) => event.type.replace('response.', ''))

export async function wholeOf(batches: OutputEvent[][]) {
  const finished = await collect(async (send) => batches.forEach((batch) => send(batch)))
  return ResponseObject.parse(JSON.parse(toObject(finished, answerOf('full'))))
}
