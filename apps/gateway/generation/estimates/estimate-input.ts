import type { RequestSize } from '#libs/contracts/request-size.ts'

export type InputEstimate = {
  /** Returns a number of tokens that the request probably does not exceed. */
  estimate(model: string, size: PromptSize): number
  /** Adjusts the estimate to the number of prompt tokens that a worker counted. */
  learn(model: string, size: PromptSize, promptTokens: number): void
}

type PromptSize = Pick<RequestSize, 'promptBytes'>

/**
 * The tokens per byte that are assumed until workers have counted enough prompts. No tokenizer in use makes more tokens
 * per byte of ordinary text.
 */
const UNLEARNED_TOKENS_PER_BYTE = 0.6
/** The quantile is taken from this many of a model's latest counts. */
const REMEMBERED = 256
const QUANTILE = 0.95
/**
 * The quantile of the tokens per byte is computed again after each group of this many counted prompts. Sorting after
 * each prompt would burden every request, and the quantile changes slowly. The first counts only lower the assumed
 * number, down to the highest of them plus a margin: so on its first day, an account that has credits for ten long
 * prompts does not wait for holds of the double price.
 */
const SORT_EVERY = 16

/**
 * Estimates the input tokens of a request, because the gateway never tokenizes. The estimate is the request's bytes
 * times a high quantile of the tokens per byte that workers counted. If an estimate is too low, the worker declines the
 * generation, the hold is replaced by a hold for the counted tokens, and the generation is queued again. An estimate
 * that is too high holds more credits for a while. Neither error can create debt.
 */
export function createInputEstimate(): InputEstimate {
  const ratios = new Map<string, { ring: number[]; next: number; quantile: number }>()
  return {
    estimate(model, { promptBytes }) {
      const perByte = ratios.get(model)?.quantile ?? UNLEARNED_TOKENS_PER_BYTE
      return Math.max(1, Math.ceil(promptBytes * perByte))
    },
    learn(model, { promptBytes }, promptTokens) {
      const known = ratios.get(model) ?? { ring: [], next: 0, quantile: UNLEARNED_TOKENS_PER_BYTE }
      ratios.set(model, known)
      known.ring[known.next] = promptTokens / Math.max(1, promptBytes)
      known.next = (known.next + 1) % REMEMBERED
      const counted = known.ring.length
      if (counted < SORT_EVERY) {
        const margin = 1 + 1 / counted
        known.quantile = Math.min(UNLEARNED_TOKENS_PER_BYTE, Math.max(...known.ring) * margin)
      } else if (known.next % SORT_EVERY === 0) known.quantile = quantileOf(known.ring)
    },
  }
}

function quantileOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * QUANTILE)] ?? UNLEARNED_TOKENS_PER_BYTE
}
