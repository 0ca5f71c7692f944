import { html, type TemplateResult } from 'lit-html'
import { formatCredits } from '#libs/money/nano-credits.ts'

const NANO_DIGITS = 9

/** The decimals of an amount of one credit or more. */
const CENTS = 2

/** The digits of a smaller amount after its leading zeros. */
const SIGNIFICANT = 4

/**
 * Shows credits for a table: shortened and rounded down. The title has the exact amount, and the text that is copied is
 * in nano-credits.
 */
export function credits(nano: string | bigint): TemplateResult {
  const amount = BigInt(nano)
  return html`<span class="money" data-copy=${String(amount)} title="${exactCredits(amount)} credits"
    >${shortCredits(amount)}</span
  >`
}

/** Formats credits with every digit. */
export function exactCredits(nano: string | bigint): string {
  const [whole = '', fraction] = formatCredits(BigInt(nano)).split('.')
  const grouped = group(whole)
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

export function shortCredits(nano: bigint): string {
  if (nano < 0n) return `−${shortCredits(-nano)}`
  const [whole = '', fraction = ''] = formatCredits(nano).split('.')
  if (whole !== '0') return `${group(whole)}.${fraction.padEnd(CENTS, '0').slice(0, CENTS)}`
  if (fraction === '') return '0'
  const zeros = /^0*/.exec(fraction)?.[0].length ?? 0
  return `0.${fraction.slice(0, Math.min(NANO_DIGITS, zeros + SIGNIFICANT)).replace(/0+$/, '')}`
}

/** Formats a price, which is given in nano-credits per 1,000,000 tokens. */
export function pricePerMillion(nano: string): string {
  return exactCredits(nano)
}

function group(whole: string): string {
  return whole.replaceAll(/\B(?=(\d{3})+$)/g, ',')
}
