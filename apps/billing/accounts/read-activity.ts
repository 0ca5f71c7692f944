import { sql, type Kysely } from 'kysely'
import type { ReadActivityResponse } from '#proto/types/millrace/billing/ReadActivityResponse.ts'
import { readArchiveEnd } from '../books/archive-end.ts'
import { readSpan, selectUsage } from '../admin/resources/usage.ts'
import type { Tables } from '../database/tables.ts'
import { isOf, type Scope } from './scope.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_DAYS = 366

type ActivityRow = {
  day: string
  model: string
  requests: string
  prompt: string
  cached: string
  completion: string
  charged: string
}

/** Settled requests of the key or the account by UTC day and model. Throws a RangeError for days that are none, or too many. */
export async function readActivity(
  db: Kysely<Tables>,
  scope: Scope,
  { from, to }: { from: string; to: string },
): Promise<ReadActivityResponse> {
  const [start, end] = [new Date(from), new Date(Date.parse(to) + DAY_MS)]
  const days = (end.getTime() - start.getTime()) / DAY_MS
  if (!(days >= 1 && days <= MAX_DAYS)) throw new RangeError('from and to')
  // Unknown is not zero: a sum over days of which some are archived would be too low.
  const archived = await readArchiveEnd(db)
  if (archived !== null && start < archived.endedAt) return { archivedMonth: archived.month }
  const { rows } = await sql<ActivityRow>`
    select to_char(time at time zone 'UTC', 'YYYY-MM-DD') as day, model, sum(requests)::text as requests,
      sum(prompt_tokens)::text as prompt, sum(cached_tokens)::text as cached,
      sum(completion_tokens)::text as completion, sum(charged)::text as charged
    from (${selectUsage(await readSpan(db, { start, end }), [isOf(scope)])}) u
    group by 1, 2 order by 1, 2`.execute(db)
  return {
    days: rows.map(({ day, model, requests, prompt, cached, completion, charged }) => ({
      day,
      model,
      requests,
      promptTokens: prompt,
      cachedTokens: cached,
      completionTokens: completion,
      chargedNano: charged,
    })),
  }
}
