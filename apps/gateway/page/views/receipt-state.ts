import type { TemplateResult } from 'lit-html'
import { mark, type Meaning } from '#libs/page-parts/mark.ts'
import type { Receipt } from '#libs/account-contract/resources/generations.ts'

const OUTCOMES: Readonly<Record<NonNullable<Receipt['outcome']>, Meaning>> = {
  completed: 'good',
  cancelled: 'off',
  fault: 'bad',
  'never-ran': 'warn',
}

/** How a request stands or ended, with the reason where one is known. */
export function showState({ status, outcome, error_code, finish_reason }: Receipt): TemplateResult {
  if (outcome === null) return mark(status === 'running' ? 'busy' : 'off', status)
  const reason = error_code ?? finish_reason
  return mark(OUTCOMES[outcome], reason === null ? outcome : `${outcome} · ${reason}`)
}
