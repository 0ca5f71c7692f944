import { html, nothing, type TemplateResult } from 'lit-html'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { showWaiting } from '#libs/page-parts/load.ts'
import { duration, toUtcText } from '#libs/page-parts/time.ts'
import type { Live } from '../live.ts'

type Sources = { readonly busAwayMs: number; readonly queueAwayMs: number }

/** Shows when the picture was taken, with a warning if it is stale. */
export function asOf<View>({ asOf, isStale }: Live<View>): TemplateResult {
  if (asOf === undefined)
    return html`<span class="as-of">${isStale ? 'no picture yet: connection lost' : nothing}</span>`
  const time = toUtcText(new Date(asOf), wallClockMs())
  return isStale
    ? html`<span class="as-of bad" role="alert">as of ${time} UTC, connection lost</span>`
    : html`<span class="as-of">as of ${time} UTC</span>`
}

/** Shows a live picture, grey if it is stale, with the sources that are missing. */
export function liveSection<View extends { readonly sources: Sources }>(
  live: Live<View>,
  draw: (view: View) => TemplateResult,
): TemplateResult {
  const { view, isStale } = live
  if (view === undefined) return showWaiting()
  return html`${missing(view.sources)}
    <div class=${isStale ? 'stale' : ''}>${draw(view)}</div>`
}

function missing({ busAwayMs, queueAwayMs }: Sources): TemplateResult {
  return html`${
    queueAwayMs > 0
      ? html`<p class="notice bad" role="alert">
          The queue Redis has not answered for ${duration(queueAwayMs)}: how many wait is not known.
        </p>`
      : nothing
  }
  ${
    busAwayMs > 0
      ? html`<p class="notice bad" role="alert">
          No message came over the bus for ${duration(busAwayMs)}: workers and gateways are shown as they
          were.
        </p>`
      : nothing
  }`
}
