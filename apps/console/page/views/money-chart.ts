import { shortCredits } from '#libs/page-parts/money.ts'
import { short } from '#libs/page-parts/number.ts'
import { DAY_MS, toDay } from '#libs/page-parts/time.ts'
import type { ChartView } from '../parts/chart.ts'
import { sumOf, type Usage } from '../parts/usage-by-model.ts'

export const DAYS = 30

/** How many models have a line of their own. One more line shows the sum of the others. */
const NAMED = 5

/** Builds the chart of charges by day, with the models stacked. */
export function toChart(rows: readonly Usage[], todayMs: number): Parameters<ChartView['view']>[0] {
  const days = Array.from({ length: DAYS }, (_, index) => toDay(todayMs - (DAYS - 1 - index) * DAY_MS))
  const models = [...Map.groupBy(rows, ({ model }) => model ?? 'unknown')].toSorted(([, a], [, b]) =>
    sumOf(a) < sumOf(b) ? 1 : -1,
  )
  const rest = models.slice(NAMED).flatMap(([, own]) => own)
  const groups = [...models.slice(0, NAMED), ...(rest.length === 0 ? [] : [['others', rest] as const])]
  const perDay = days.map((day) => sumOf(rows.filter((row) => row.day === day)))
  const highest = perDay.reduce((a, b) => (a > b ? a : b), 0n)
  return {
    sentence: `Charged by day: today ${shortCredits(perDay.at(-1) ?? 0n)}, highest ${shortCredits(highest)}, in all ${shortCredits(sumOf(rows))} credits.`,
    times: days.map((day) => Date.parse(day) / 1_000),
    series: groups.map(([name, own]) => ({
      name,
      values: days.map((day) => toCredits(sumOf(own.filter((row) => row.day === day)))),
    })),
    isStacked: true,
    format: (value) => (value === 0 ? '0' : value >= 1 ? short(value) : value.toPrecision(2)),
  }
}

/** Converts to a number for a line's height, where the last digits do not matter. */
function toCredits(nano: bigint): number {
  return Number(nano) / 1e9
}
