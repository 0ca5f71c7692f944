import { z } from 'zod'

/** Fields that several operations have. */

export const Credits = z
  .number()
  .meta({ description: 'Credits; the number nearest to the exact amount in `nano`.' })

export const Nano = z
  .string()
  .regex(/^-?\d+$/)
  .meta({ description: 'Nano-credits (10⁻⁹ credit), exact.' })

export const Count = z.int().min(0)

export const Time = z.iso.datetime()

/** Lower case, as billing writes ids. All versions of UUIDs match. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The last row of the previous page: its time in microseconds and its id. */
const CURSOR = /^\d{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const MAX_PAGE = 50

/** Returns the schema of a list's query. `of` names the things that the limit counts. */
export function pageQuery(of: string, { lastId }: { lastId: string }) {
  return z.object({
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(MAX_PAGE)
      .default(MAX_PAGE)
      .meta({ description: `${of} of a page.`, example: MAX_PAGE }),
    cursor: z
      .string()
      .refine((text) => CURSOR.test(text), `Invalid string: must match pattern ${String(CURSOR)}`)
      .optional()
      .meta({ description: '`next_cursor` of the page before.', example: `1795281192001000-${lastId}` }),
  })
}

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'For the next page; null: this is the last one.' }),
  })
}

/** How often a spend limit begins anew. */
export const Reset = z.enum(['daily', 'weekly', 'monthly'], 'expected daily, weekly or monthly')

/** The amounts that were charged to a key or an account, and the key's spend limit. */
export const SPENDING = {
  usage: Credits.meta({ description: 'Charged to this key so far.' }),
  usage_daily: Credits.meta({ description: 'Since midnight UTC.' }),
  usage_weekly: Credits.meta({ description: 'Since Monday, midnight UTC.' }),
  usage_monthly: Credits.meta({ description: 'Since the first of the month, midnight UTC.' }),
  limit: Credits.nullable().meta({ description: 'The spend limit of the key; null: none.' }),
  limit_remaining: Credits.nullable(),
  limit_reset: Reset.nullable().meta({
    description: 'When the spend limit begins anew; null: never, or no limit.',
  }),
}

/** The amounts of `SPENDING` in nano-credits, which are exact. */
export const SPENDING_NANO = {
  usage: Nano,
  usage_daily: Nano,
  usage_weekly: Nano,
  usage_monthly: Nano,
  limit: Nano.nullable(),
  limit_remaining: Nano.nullable(),
}

/** The models and rates to which a key is limited. */
export const ALLOWED = {
  models: z.array(z.string()).nullable().meta({ description: 'What the key may use; null: all.' }),
  requests_per_minute: Count.nullable(),
  tokens_per_minute: Count.nullable(),
}

/** The key that the examples show. It is in parts, because answers have the fields in different orders. */
export const EXAMPLE_KEY = {
  naming: { label: 'mr_live_mcHg…cCRh', name: 'production' },
  spending: {
    usage: 18.4,
    usage_daily: 0.9,
    usage_weekly: 4.2,
    usage_monthly: 18.4,
    limit: 25,
    limit_remaining: 6.6,
    limit_reset: 'monthly' as const,
    expires_at: null,
  },
  allowed: { models: ['demo-chat'], requests_per_minute: 600, tokens_per_minute: null },
  nano: {
    usage: '18400000000',
    usage_daily: '900000000',
    usage_weekly: '4200000000',
    usage_monthly: '18400000000',
    limit: '25000000000',
    limit_remaining: '6600000000',
  },
}
