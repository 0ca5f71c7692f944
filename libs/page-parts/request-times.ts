import { html, nothing, svg, type TemplateResult } from 'lit-html'
import { whole } from './number.ts'
import { duration } from './time.ts'

/** The parts of a request's time in order. A part is null if it is unknown or did not happen. */
export type RequestTimes = {
  /** The time in the queue. */
  readonly waitedMs: number | null
  /** The time from the claim to the first output. */
  readonly firstTokenMs: number | null
  /** The time from the first output to the end. */
  readonly ranMs: number | null
  /** The number of requests that were ahead in the queue. */
  readonly ahead: number | null
  readonly completionTokens: number
}

/** Shows where a request's time went: as bars, in words, and with the longest part named. */
export function showTimes(times: RequestTimes): TemplateResult {
  const { waitedMs, firstTokenMs, ranMs, completionTokens: tokens } = times
  const perS = ranMs !== null && ranMs > 0 ? ` · ${whole((tokens * 1_000) / ranMs)} tokens/s` : ''
  const parts = [
    { name: 'waited', ms: waitedMs, text: `waited ${duration(waitedMs)}` },
    { name: 'first', ms: firstTokenMs, text: `first token after ${duration(firstTokenMs)}` },
    { name: 'wrote', ms: ranMs, text: `wrote ${whole(tokens)} tokens in ${duration(ranMs)}${perS}` },
  ]
  return html`${timeline(parts)}
    <ul class="times">
      ${parts.map(({ name, ms, text }) => (ms === null ? nothing : html`<li class=${name}>${text}</li>`))}
    </ul>
    ${why(times)}`
}

type Part = { readonly name: string; readonly ms: number | null; readonly text: string }

/** Draws one bar for each part, which begins where the previous bar ends. */
function timeline(parts: readonly Part[]): TemplateResult {
  const known = parts.map(({ name, ms }) => ({ name, ms: Math.max(0, ms ?? 0) }))
  const all = known.reduce((sum, { ms }) => sum + ms, 0)
  if (all === 0) return html``
  let start = 0
  const bars = known.map(({ name, ms }, index) => {
    const x = (1_000 * start) / all
    start += ms
    const width = Math.max(ms === 0 ? 0 : 2, (1_000 * ms) / all)
    return svg`<rect class=${name} x=${x.toFixed(1)} y=${index * 16} width=${width.toFixed(1)} height="12" rx="2" />`
  })
  return html`<svg
    class="timeline"
    viewBox="0 0 1000 48"
    preserveAspectRatio="none"
    role="img"
    aria-label=${parts.map(({ text }) => text).join(', ')}
  >
    ${bars}
  </svg>`
}

function why({ waitedMs, firstTokenMs, ranMs, ahead }: RequestTimes) {
  const all = (waitedMs ?? 0) + (firstTokenMs ?? 0) + (ranMs ?? 0)
  if (all === 0) return nothing
  const queue = ahead === null ? '' : `${whole(ahead)} were ahead when it was admitted`
  if ((waitedMs ?? 0) > all / 2)
    return html`<p>Most of its time it waited${queue === '' ? '' : `: ${queue}`}.</p>`
  const part =
    (firstTokenMs ?? 0) > all / 2
      ? 'Most of its time the engine read the prompt, before the first token.'
      : (ranMs ?? 0) > all / 2
        ? 'Most of its time it wrote.'
        : ''
  return html`<p>${part}${queue === '' ? '' : ` ${queue}.`}</p>`
}
