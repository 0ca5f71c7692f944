import { html, type TemplateResult } from 'lit-html'
import { pricePerMillion } from './money.ts'
import { whole } from './number.ts'

/** Lists the tokens of a request with their prices. Cached tokens are a part of the prompt's tokens. */
export function showTokens(
  tokens: { readonly prompt: number; readonly cached: number; readonly completion: number },
  /** The prices in nano-credits per 1,000,000 tokens. */
  prices: { readonly input: string; readonly cachedInput: string; readonly output: string },
): TemplateResult {
  return html`<dt>Input</dt>
    <dd>
      ${whole(tokens.prompt - tokens.cached)} tokens × ${pricePerMillion(prices.input)} credits a million
    </dd>
    <dt>Cached input</dt>
    <dd>${whole(tokens.cached)} tokens × ${pricePerMillion(prices.cachedInput)}</dd>
    <dt>Output</dt>
    <dd>${whole(tokens.completion)} tokens × ${pricePerMillion(prices.output)}</dd>`
}
