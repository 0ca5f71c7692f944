import { z } from 'zod'
import type { OperationDescription, OperationError } from '../operation-description.ts'
import { ActivityAnswer, CreditsAnswer, GenerationAnswer, GenerationsAnswer, KeyAnswer } from './schemas.ts'
import type { Activity, Receipt } from './schemas.ts'

const ERRORS: readonly OperationError[] = ['invalid_key', 'model_busy', 'model_unavailable']

const FREE =
  'Costs nothing, and is answered without credits and beyond every limit and rate of generations. A key may read once a ' +
  'second, after a burst of ten; the same question gets the same answer for a second.'

const READS = { method: 'get', request: null, stream: null } as const

const amounts = { available: 74.21, held: 7.19 }
const exact = { available: '74210000000', held: '7190000000' }

export const keyDescription: OperationDescription = {
  ...READS,
  path: '/v1/key',
  id: 'readKey',
  summary: 'Describes the API key of the request.',
  description: `Its limits, what it has used, and what it can spend now. ${FREE}`,
  parameters: [],
  answer: {
    name: 'ApiKey',
    schema: KeyAnswer,
    examples: {
      key: {
        data: {
          label: 'mr_live_mcHg…cCRh',
          name: 'production',
          usage: 18.4,
          usage_daily: 0.9,
          usage_weekly: 4.2,
          usage_monthly: 18.4,
          limit: 25,
          limit_remaining: 6.6,
          limit_reset: 'monthly',
          expires_at: null,
          is_management_key: false,
          is_free_tier: false,
          models: ['demo-chat'],
          requests_per_minute: 600,
          tokens_per_minute: null,
          ...amounts,
          spendable: 6.6,
          nano: {
            usage: '18400000000',
            usage_daily: '900000000',
            usage_weekly: '4200000000',
            usage_monthly: '18400000000',
            limit: '25000000000',
            limit_remaining: '6600000000',
            ...exact,
            spendable: '6600000000',
          },
        },
      },
    },
  },
  errors: ERRORS,
}

export const creditsDescription: OperationDescription = {
  ...READS,
  path: '/v1/credits',
  id: 'readCredits',
  summary: 'Returns the credits of the account.',
  description: `What was ever credited and charged, and what is available now. ${FREE}`,
  parameters: [],
  answer: {
    name: 'Credits',
    schema: CreditsAnswer,
    examples: {
      credits: {
        data: {
          total_credits: 100,
          total_usage: 18.6,
          ...amounts,
          nano: { total_credits: '100000000000', total_usage: '18600000000', ...exact },
        },
      },
    },
  },
  errors: ERRORS,
}

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

export const generationDescription: OperationDescription = {
  ...READS,
  path: '/v1/generation',
  id: 'readGeneration',
  summary: 'Returns the receipt of one request of this API key.',
  description: `It is there from the moment the request is accepted: \`running\` first. ${FREE}`,
  parameters: [
    {
      name: 'id',
      in: 'query',
      required: true,
      description:
        'The `x-request-id` of the request, or the id of its answer (`chatcmpl-…`, `cmpl-…`, `resp_…`).',
      schema: z.string(),
      example: receipt.id,
    },
  ],
  answer: { name: 'Generation', schema: GenerationAnswer, examples: { settled: { data: receipt } } },
  errors: ['invalid_request', 'generation_not_found', ...ERRORS],
}

export const generationsDescription: OperationDescription = {
  ...READS,
  path: '/v1/generations',
  id: 'listGenerations',
  summary: 'Lists the receipts of this API key, newest first.',
  description:
    'The first page begins with up to 50 requests that run; then come the settled ones, by the time of their settling. ' +
    `A request that was refused, or whose hold was given back, is not listed. ${FREE}`,
  parameters: [
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'Settled requests of a page.',
      schema: z.int().min(1).max(50).default(50),
      example: 50,
    },
    {
      name: 'cursor',
      in: 'query',
      required: false,
      description: '`next_cursor` of the page before.',
      schema: z.string(),
      example: '1795281192001000-01a1ff19-4bd8-7c31-9a55-0242ac120002',
    },
  ],
  answer: {
    name: 'Generations',
    schema: GenerationsAnswer,
    examples: { last: { data: [receipt], next_cursor: null } },
  },
  errors: ['invalid_request', ...ERRORS],
}

const day: Activity = {
  date: '2026-11-21',
  model: 'demo-chat',
  requests: 2,
  prompt_tokens: 518,
  cached_tokens: 0,
  completion_tokens: 602,
  usage: 0.0004648,
  nano: { usage: '464800' },
}

const dayParameter = (name: string, description: string) =>
  ({ name, in: 'query', required: false, description, schema: z.iso.date(), example: day.date }) as const

export const activityDescription: OperationDescription = {
  ...READS,
  path: '/v1/activity',
  id: 'readActivity',
  summary: 'Sums up the settled requests of this API key by day and model.',
  description:
    'Days are in UTC, of the settling; at most 366 at once. With `Accept: text/csv` the answer is a table, with amounts ' +
    `in nano-credits. ${FREE}`,
  parameters: [
    dayParameter('from', 'The first day; default: 29 days before the last.'),
    dayParameter('to', 'The last day; default: today.'),
  ],
  answer: { name: 'Activity', schema: ActivityAnswer, examples: { day: { data: [day] } } },
  errors: ['invalid_request', ...ERRORS],
}
