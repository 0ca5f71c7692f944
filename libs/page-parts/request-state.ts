import { html, type TemplateResult } from 'lit-html'
import type { Receipt } from '#libs/account-contract/resources/generations.ts'
import { copy, wholeId } from './id.ts'
import { mark, type Meaning } from './mark.ts'
import type { PageApp } from './page-app.ts'

const OUTCOMES: Readonly<Record<NonNullable<Receipt['outcome']>, Meaning>> = {
  completed: 'good',
  cancelled: 'off',
  fault: 'bad',
  'never-ran': 'warn',
}

/** Shows how a settled request ended, with the reason if it is known. */
export function showOutcome(outcome: NonNullable<Receipt['outcome']>, reason: string | null): TemplateResult {
  return mark(OUTCOMES[outcome], reason === null ? outcome : `${outcome} · ${reason}`)
}

/** Shows the head of a request's screen. Its button copies `record`. */
export function requestHead(
  app: PageApp,
  { id, state, record }: { id: string; state: TemplateResult; record: unknown },
): TemplateResult {
  const json = JSON.stringify(record, null, 2)
  return html`<div class="head">
      <h1>Request ${state}</h1>
      <button type="button" @click=${() => void copy(json, app.say)}>Copy as JSON</button>
    </div>
    <p>${wholeId(id, app.say)}</p>`
}

/** Shown if an ended request has no times. */
export const NO_TIMES = 'No times are kept: it is older than 90 days, or ran in an older release.'
