import { html, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'

const DAY_MS = 24 * 60 * 60_000
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Shows a time in UTC; its title has the viewer's own time. */
export function moment(iso: string | null, nowMs = wallClockMs()): TemplateResult {
  if (iso === null) return html`<span class="dim">never</span>`
  const at = new Date(iso)
  return html`<time datetime=${iso} title="${at.toLocaleString()} (local)">${toUtcText(at, nowMs)}</time>`
}

/** Formats a time in UTC, shorter the closer it is to now: `12:03:05`, `21 Nov 12:03`, `21 Nov 2025`. */
export function toUtcText(at: Date, nowMs: number): string {
  const clock = at.toISOString().slice(11, 19)
  const now = new Date(nowMs)
  if (at.toISOString().slice(0, 10) === now.toISOString().slice(0, 10)) return clock
  const day = `${at.getUTCDate()} ${MONTHS[at.getUTCMonth()] ?? ''}`
  const isNear = Math.abs(nowMs - at.getTime()) < 300 * DAY_MS
  return isNear ? `${day} ${clock.slice(0, 5)}` : `${day} ${at.getUTCFullYear()}`
}

/** Formats a duration with one unit, such as `410 ms`, `3.2 s`, `14 s`, `3 min`, `2 d`. */
export function duration(ms: number | null): string {
  if (ms === null) return '–'
  if (ms === 0) return '0 s'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`
  if (ms < 120 * 60_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 2 * DAY_MS) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / DAY_MS)} d`
}

export function toDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

export { DAY_MS }
