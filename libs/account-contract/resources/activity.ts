import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import { Count, Credits, Nano } from '../fields.ts'
import { defineRead, FREE, READ_ERRORS } from '../operation.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_DAYS = 366

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

const Day = z.iso.date()

/** Throws an `ApiError` if the last day is before the first one, or if there are too many days. */
function assertDays(from: string, to: string): void {
  const count = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (count < 1) throw new ApiError('invalid_request', "'to' is before 'from'.", { param: 'to' })
  if (count > MAX_DAYS) {
    throw new ApiError('invalid_request', `At most ${MAX_DAYS} days can be read at once.`, { param: 'from' })
  }
}

/**
 * Returns the first and the last day of a query, both included. By default `to` is `today`, and `from` is 29 days
 * before `to`. Throws as `assertDays` does.
 */
export function toDays(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  today: Date,
): { from: string; to: string } {
  const last = to ?? toDay(today)
  const first = from ?? toDay(new Date(Date.parse(last) - 29 * DAY_MS))
  assertDays(first, last)
  return { from: first, to: last }
}

const toDay = (time: Date) => time.toISOString().slice(0, 10)

export const ACTIVITY = {
  readActivity: defineRead({
    path: '/activity',
    by: 'any key',
    summary: 'Sums up the settled requests of this API key by day and model.',
    description:
      'Days are in UTC, of the settling; at most 366 at once. With `Accept: text/csv` the answer is a table, with amounts ' +
      `in nano-credits. ${FREE}`,
    query: z
      .object({
        from: Day.optional().meta({
          description: 'The first day; default: 29 days before the last.',
          example: day.date,
        }),
        to: Day.optional().meta({ description: 'The last day; default: today.', example: day.date }),
      })
      // `toDays` checks the days as well. This check refuses wrong days before anything is read.
      .refine(({ from, to }) => {
        if (from !== undefined && to !== undefined) assertDays(from, to)
        return true
      }),
    answer: z.object({ data: z.array(Activity) }),
    answered: { name: 'Activity', examples: { day: { data: [day] } } },
    errors: ['invalid_request', ...READ_ERRORS],
  }),
}
