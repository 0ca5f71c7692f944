import { formatCredits } from '#libs/money/nano-credits.ts'

/** The forms in which tables show values. Null stays null, which a table shows as an empty cell. */

/** Formats nano-credits as credits. */
export function toCredits(nano: string): string
export function toCredits(nano: string | null): string | null
export function toCredits(nano: string | null): string | null {
  return nano === null ? null : formatCredits(BigInt(nano))
}

/** Formats a time in UTC, to the second: `2030-01-01 00:00:00Z`. */
export function toTime(time: string): string
export function toTime(time: string | null): string | null
export function toTime(time: string | null): string | null {
  return time === null ? null : time.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
}

export function toYesNo(value: boolean): string {
  return value ? 'yes' : 'no'
}
