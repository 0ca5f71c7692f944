import type { RequestSize } from '#libs/contracts/request-size.ts'

export type InputEstimate = {
  /** Returns a number of tokens that the request probably does not exceed. */
  estimate(model: string, size: PromptSize): number
  /** Takes a worker's exact count into account. */
  learn(model: string, size: PromptSize, promptTokens: number): void
}

type PromptSize = Pick<RequestSize, 'promptBytes'>

/** The ratio before the first count. No tokenizer in use makes more tokens of ordinary text. */
const UNLEARNED_TOKENS_PER_BYTE = 0.6
/** The counts per model from which the quantile is taken. */
const REMEMBERED = 256
const QUANTILE = 0.95
/**
 * Sorted only after so many counts, because sorting at each count would burden every request and the quantile changes
 * slowly.
 */
const SORT_EVERY = 16

/**
 * Estimates the input tokens of a request, because the gateway never tokenizes. The estimate is the request's bytes
 * times a high quantile of the ratios that workers counted. Too low an estimate costs one more round: the worker
 * declines and the hold is replaced by an exact one. Too high an estimate holds more credits for a while. Neither error
 * can create debt.
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
      if (known.next % SORT_EVERY === 0) known.quantile = quantileOf(known.ring)
    },
  }
}

function quantileOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * QUANTILE)] ?? UNLEARNED_TOKENS_PER_BYTE
}
