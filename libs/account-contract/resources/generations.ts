import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { Count, Credits, Nano, pageOf, pageQuery, Time } from '../fields.ts'
import { defineRead, FREE, READ_ERRORS } from '../operation.ts'

const Ms = Count.nullable().meta({ description: 'Milliseconds; null: not known, or it did not happen.' })

/** The record of one request, as the interface shows it to the key that made it. */
const Receipt = z.object({
  id: z.uuid().meta({ description: 'As in `x-request-id`.' }),
  status: z.enum(['running', 'settled', 'released', 'expired']),
  outcome: z.enum(['completed', 'cancelled', 'fault', 'never-ran']).nullable(),
  model: z.string(),
  created_at: Time,
  streamed: z.boolean().nullable(),
  cancelled: z.boolean().nullable(),
  finish_reason: z.string().nullable(),
  error_code: z.string().nullable(),
  waited_ms: Ms.meta({ description: 'In the queue.' }),
  ahead: Count.nullable().meta({ description: 'How many were before it in the queue.' }),
  latency: Ms.meta({ description: 'From the queue to the first output, in milliseconds.' }),
  generation_time: Ms.meta({ description: 'From the first output to the end, in milliseconds.' }),
  tokens_prompt: Count.nullable(),
  tokens_completion: Count.nullable(),
  native_tokens_cached: Count.nullable(),
  native_tokens_reasoning: Count.nullable(),
  total_cost: Credits.nullable().meta({ description: 'The charge; null while there is none.' }),
  usage: Credits.nullable().meta({ description: 'As `total_cost`.' }),
  provider_name: z.literal('millrace'),
  hold: z.object({ nano: Nano, clamped: z.boolean() }),
  prices: z
    .object({ input_nano: Nano, cached_input_nano: Nano, output_nano: Nano })
    .meta({ description: 'Nano-credits per 1,000,000 tokens.' }),
  nano: z.object({ total_cost: Nano.nullable() }),
})
export type Receipt = z.infer<typeof Receipt>

const receipt: Receipt = {
  id: '01a1ff19-4bd8-7c31-9a55-0242ac120002',
  status: 'settled',
  outcome: 'completed',
  model: 'demo-chat',
  created_at: '2026-11-21T17:13:12.001Z',
  streamed: true,
  cancelled: false,
  finish_reason: 'stop',
  error_code: null,
  waited_ms: 14_200,
  ahead: 124,
  latency: 14_610,
  generation_time: 5_900,
  tokens_prompt: 259,
  tokens_completion: 301,
  native_tokens_cached: 0,
  native_tokens_reasoning: 0,
  total_cost: 0.0002324,
  usage: 0.0002324,
  provider_name: 'millrace',
  hold: { nano: '291800', clamped: false },
  prices: { input_nano: '200000000', cached_input_nano: '50000000', output_nano: '600000000' },
  nano: { total_cost: '232400' },
}

/** A request's id: the bare `x-request-id`, or the same id with the prefix of the answer's id. */
const ANY_ID = /^(?:chatcmpl-|cmpl-|resp_)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i

/** The error for the id of another key's request, for an unknown id, and for a text that cannot be an id. */
export function generationNotFound(message = 'There is no request with this id.'): ApiError {
  return new ApiError('generation_not_found', message, { param: 'id' })
}

const GenerationId = z.string().transform((text) => {
  const id = ANY_ID.exec(text)?.[1]
  if (id === undefined) throw generationNotFound()
  return id.toLowerCase()
})

export const GENERATIONS = {
  readGeneration: defineRead({
    path: '/generation',
    by: 'any key',
    summary: 'Returns the receipt of one request of this API key.',
    description: `It is there from the moment the request is accepted: \`running\` first. ${FREE}`,
    query: z.object({
      id: GenerationId.meta({
        description:
          'The `x-request-id` of the request, or the id of its answer (`chatcmpl-…`, `cmpl-…`, `resp_…`).',
        example: receipt.id,
      }),
    }),
    answer: z.object({ data: Receipt }),
    answered: { name: 'Generation', examples: { settled: { data: receipt } } },
    errors: ['invalid_request', 'generation_not_found', ...READ_ERRORS],
  }),

  listGenerations: defineRead({
    path: '/generations',
    by: 'any key',
    summary: 'Lists the receipts of this API key, newest first.',
    description:
      'The first page begins with up to 50 requests that run; then come the settled ones, by the time of their settling. ' +
      `A request that was refused, or whose hold was given back, is not listed. ${FREE}`,
    query: pageQuery('Settled requests', { lastId: receipt.id }),
    answer: pageOf(Receipt),
    answered: { name: 'Generations', examples: { last: { data: [receipt], next_cursor: null } } },
    errors: ['invalid_request', ...READ_ERRORS],
  }),
}
