import { z } from 'zod'

export const Credits = z
  .number()
  .meta({ description: 'Credits; the number nearest to the exact amount in `nano`.' })
export const Nano = z
  .string()
  .regex(/^-?\d+$/)
  .meta({ description: 'Nano-credits (10⁻⁹ credit), exact.' })
export const Count = z.int().min(0)
const Ms = Count.nullable().meta({ description: 'Milliseconds; null: not known, or it did not happen.' })
export const Time = z.iso.datetime()

export const KeyAnswer = z.object({
  data: z.object({
    label: z.string().meta({ description: 'The first and last characters of the key.' }),
    name: z.string().nullable(),
    usage: Credits.meta({ description: 'Charged to this key so far.' }),
    usage_daily: Credits.meta({ description: 'Since midnight UTC.' }),
    usage_weekly: Credits.meta({ description: 'Since Monday, midnight UTC.' }),
    usage_monthly: Credits.meta({ description: 'Since the first of the month, midnight UTC.' }),
    limit: Credits.nullable().meta({ description: 'The spend limit of the key; null: none.' }),
    limit_remaining: Credits.nullable(),
    limit_reset: z
      .enum(['daily', 'weekly', 'monthly'])
      .nullable()
      .meta({ description: 'When the spend limit begins anew; null: never, or no limit.' }),
    expires_at: Time.nullable(),
    is_management_key: z.boolean().meta({
      description: 'Whether it is a management key: its usage is that of the account, and it spends nothing.',
    }),
    is_free_tier: z.literal(false),
    models: z.array(z.string()).nullable().meta({ description: 'What the key may use; null: all.' }),
    requests_per_minute: Count.nullable(),
    tokens_per_minute: Count.nullable(),
    available: Credits.meta({ description: 'What the account can spend now.' }),
    held: Credits.meta({ description: 'What running requests of the account hold.' }),
    spendable: Credits.meta({ description: 'What this key can spend now: the least of account and limit.' }),
    nano: z.object({
      usage: Nano,
      usage_daily: Nano,
      usage_weekly: Nano,
      usage_monthly: Nano,
      limit: Nano.nullable(),
      limit_remaining: Nano.nullable(),
      available: Nano,
      held: Nano,
      spendable: Nano,
    }),
  }),
})
export type KeyAnswer = z.infer<typeof KeyAnswer>

export const CreditsAnswer = z.object({
  data: z.object({
    total_credits: Credits.meta({ description: 'All that was ever credited to the account.' }),
    total_usage: Credits.meta({ description: 'All that was ever charged to it.' }),
    available: Credits,
    held: Credits,
    nano: z.object({ total_credits: Nano, total_usage: Nano, available: Nano, held: Nano }),
  }),
})
export type CreditsAnswer = z.infer<typeof CreditsAnswer>

/** Of one request. */
export const Receipt = z.object({
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

export const GenerationAnswer = z.object({ data: Receipt })
export const GenerationsAnswer = z.object({
  data: z.array(Receipt),
  next_cursor: z.string().nullable().meta({ description: 'For the next page; null: this is the last one.' }),
})
export type GenerationsAnswer = z.infer<typeof GenerationsAnswer>

const Activity = z.object({
  date: z.iso.date(),
  model: z.string(),
  requests: Count,
  prompt_tokens: Count,
  cached_tokens: Count,
  completion_tokens: Count,
  usage: Credits,
  nano: z.object({ usage: Nano }),
})
export type Activity = z.infer<typeof Activity>

export const ActivityAnswer = z.object({ data: z.array(Activity) })
