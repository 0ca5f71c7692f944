import { sql } from 'kysely'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import { toDays } from '#libs/account-contract/resources/activity.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { readArchiveEnd } from '../books/archive-end.ts'
import { readSpan, selectUsage } from '../resources/select-usage.ts'
import { forAnyKey } from './implement.ts'
import { toCredits } from './key-fields.ts'
import { isOf } from './scope.ts'

const DAY_MS = 24 * 60 * 60 * 1000

type ActivityRow = {
  day: string
  model: string
  requests: string
  prompt: string
  cached: string
  completion: string
  charged: string
}

const readActivity = forAnyKey(ACCOUNT.readActivity, async ({ query }, { db, now, scope }) => {
  const { from, to } = toDays(query, now)
  const [start, end] = [new Date(from), new Date(Date.parse(to) + DAY_MS)]
  // A partly archived range is refused: its sum would be too low.
  const archived = await readArchiveEnd(db)
  if (archived !== null && start < archived.endedAt) {
    const message = `Usage up to ${archived.month} is archived: begin after that month.`
    throw new ApiError('invalid_request', message, { param: 'from' })
  }
  const { rows } = await sql<ActivityRow>`
    select to_char(time at time zone 'UTC', 'YYYY-MM-DD') as day, model, sum(requests)::text as requests,
      sum(prompt_tokens)::text as prompt, sum(cached_tokens)::text as cached,
      sum(completion_tokens)::text as completion, sum(charged)::text as charged
    from (${selectUsage(await readSpan(db, { start, end }), [isOf(scope)])}) u
    group by 1, 2 order by 1, 2`.execute(db)
  return {
    data: rows.map(({ day, model, requests, prompt, cached, completion, charged }) => ({
      date: day,
      model,
      requests: Number(requests),
      prompt_tokens: Number(prompt),
      cached_tokens: Number(cached),
      completion_tokens: Number(completion),
      usage: toCredits(charged),
      nano: { usage: charged },
    })),
  }
})

export const ACTIVITY_OPERATIONS = { readActivity }
