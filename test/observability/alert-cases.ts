import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'

/** The input of one promtool test: values by series. */
const Series = z.record(z.string(), z.string())
export type Series = z.infer<typeof Series>

const AlertCase = z.strictObject({
  alert: z.string(),
  at: z.string(),
  fires: Series,
  silent: Series,
  /** The labels of the alert beside the labels that every alert has. */
  labels: Series.default({}),
  summary: z.string(),
})
export type AlertCase = z.infer<typeof AlertCase>

/** Returns the cases. alert-cases.yaml explains what a case is. */
export function readAlertCases(): readonly AlertCase[] {
  const text = readFileSync(new URL('alert-cases.yaml', import.meta.url), 'utf8')
  return z.array(AlertCase).parse(parse(text))
}
