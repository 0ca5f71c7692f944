import { LOAD_CASES } from './load-cases.ts'
import { PARTS_CASES } from './parts-cases.ts'

/** The input of one promtool test: values by series, in promtool's notation, one each minute. */
export type Series = Readonly<Record<string, string>>

/** Shows for one alert that it fires, with these labels and this text, and that it stays silent in a similar situation. */
export type AlertCase = {
  readonly alert: string
  /** When both situations are looked at. */
  readonly at: string
  readonly fires: {
    readonly series: Series
    readonly labels: Readonly<Record<string, string>>
    readonly summary: string
  }
  readonly silent: Series
}

export const ALERT_CASES: readonly AlertCase[] = [...LOAD_CASES, ...PARTS_CASES]
