import { html, svg, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { credits, shortCredits } from '#libs/page-parts/money.ts'
import { percent, short, whole } from '#libs/page-parts/number.ts'
import { bar } from '#libs/page-parts/sparkline.ts'
import { table } from '#libs/page-parts/table.ts'
import { DAY_MS, toDay } from '#libs/page-parts/time.ts'
import type { Activity } from '#libs/account-contract/resources/activity.ts'

const DAYS = 30

type ModelSum = {
  readonly model: string
  readonly requests: number
  readonly prompt: number
  readonly cached: number
  readonly completion: number
  readonly nano: bigint
}

/** Shows bars by day, and sums by model. */
export function showUsage(days: readonly Activity[], nowMs = wallClockMs()): TemplateResult {
  if (days.length === 0) {
    return html`<p class="empty">
      Nothing was charged in the last 30 days. <a href="#/use">How to use the API</a>
    </p>`
  }
  const models = sumByModel(days)
  const all = models.reduce((sum, { nano }) => sum + nano, 0n)
  // The bars are drawn in 10,000 steps; the exact amounts stand beside them.
  const share = (nano: bigint) => (all === 0n ? 0 : Number((10_000n * nano) / all))
  return html`${showDays(sumByDay(days, nowMs), all)}
  ${table({
    caption: 'The last 30 days by model, the most charged first',
    rows: models,
    key: ({ model }) => model,
    empty: '',
    columns: [
      { name: 'Model', cell: ({ model }) => html`<bdi>${model}</bdi>` },
      { name: 'Requests', isNumber: true, cell: ({ requests }) => whole(requests) },
      { name: 'Input', isNumber: true, from: 'medium', cell: ({ prompt }) => short(prompt) },
      { name: 'of it cached', isNumber: true, from: 'medium', cell: ({ cached }) => short(cached) },
      { name: 'Output', isNumber: true, from: 'medium', cell: ({ completion }) => short(completion) },
      { name: 'Charged', isNumber: true, cell: ({ nano }) => credits(nano) },
      {
        name: 'Share',
        isNumber: true,
        cell: ({ nano }) => html`${percent(share(nano), all === 0n ? 0 : 10_000)}${bar(share(nano), 10_000)}`,
      },
    ],
  })}`
}

function sumByModel(days: readonly Activity[]): readonly ModelSum[] {
  const sums = new Map<string, ModelSum>()
  for (const day of days) {
    const before = sums.get(day.model)
    sums.set(day.model, {
      model: day.model,
      requests: (before?.requests ?? 0) + day.requests,
      prompt: (before?.prompt ?? 0) + day.prompt_tokens,
      cached: (before?.cached ?? 0) + day.cached_tokens,
      completion: (before?.completion ?? 0) + day.completion_tokens,
      nano: (before?.nano ?? 0n) + BigInt(day.nano.usage),
    })
  }
  return [...sums.values()].toSorted((a, b) => (a.nano < b.nano ? 1 : a.nano > b.nano ? -1 : 0))
}

type Day = { readonly day: string; readonly nano: bigint }

/** Returns the amounts of the last `DAYS` days in UTC, the newest last; a day without a request has the amount 0. */
function sumByDay(days: readonly Activity[], nowMs: number): readonly Day[] {
  const sums = new Map<string, bigint>()
  for (const { date, nano } of days) sums.set(date, (sums.get(date) ?? 0n) + BigInt(nano.usage))
  return Array.from({ length: DAYS }, (_, index) => {
    const day = toDay(nowMs - (DAYS - 1 - index) * DAY_MS)
    return { day, nano: sums.get(day) ?? 0n }
  })
}

function showDays(days: readonly Day[], all: bigint): TemplateResult {
  const top = days.reduce((most, { nano }) => (nano > most ? nano : most), 0n)
  const busiest = days.find(({ nano }) => nano === top)
  const sentence = `${shortCredits(all)} credits in 30 days; the most on ${busiest?.day ?? ''}: ${shortCredits(top)}.`
  return html`<figure class="chart">
    <figcaption>${sentence}</figcaption>
    <svg
      class="days"
      viewBox="0 0 ${DAYS * 10} 60"
      preserveAspectRatio="none"
      role="img"
      aria-label=${sentence}
    >
      ${days.map(({ day, nano }, index) => {
        const height = top === 0n ? 0 : Number((560n * nano) / top) / 10
        const seen = nano > 0n ? Math.max(height, 1) : 0
        return svg`<rect class="slot" x=${index * 10} width="10" height="60"><title>${day}: ${shortCredits(nano)} credits</title></rect>
          <rect class="day" x=${index * 10 + 1} y=${60 - seen} width="8" height=${seen} />`
      })}
    </svg>
    <p class="ends"><span>${days[0]?.day}</span><span>${days.at(-1)?.day}</span></p>
    <details>
      <summary>as table</summary>
      ${table({
        caption: 'Charged by day, the newest first',
        rows: days.toReversed(),
        key: ({ day }) => day,
        empty: '',
        columns: [
          { name: 'Day (UTC)', cell: ({ day }) => day },
          { name: 'Charged', isNumber: true, cell: ({ nano }) => credits(nano) },
        ],
      })}
    </details>
  </figure>`
}
