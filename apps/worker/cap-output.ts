import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'

export type OutputCap =
  | { readonly status: 'capped'; readonly maxTokens: number }
  /** The estimate was too low, and money did not clamp the hold: an exact hold is needed. */
  | { readonly status: 'hold-too-small' }
  /** Money clamped the hold, and it does not pay the exact input and one token of output. */
  | { readonly status: 'insufficient-credits' }
  /** The prompt leaves no room for a token in the context window. */
  | { readonly status: 'prompt-too-long' }

/**
 * Turns the hold's amount into the engine's output cap: the rest after the exact input, at the output price, within the
 * context window and the caller's limit. So no charge can exceed its hold, and a wrong estimate neither creates debt
 * nor shortens an answer that could be paid.
 */
export function capOutput(job: GenerationJob, promptTokens: number, contextWindow: number): OutputCap {
  const wanted = Math.min(job.maxOutputTokens, contextWindow - promptTokens)
  if (wanted < 1) return { status: 'prompt-too-long' }

  const { hold } = job
  const affordable = affordableOf(hold, { input: promptTokens, limit: wanted })
  if (affordable === wanted) return { status: 'capped', maxTokens: wanted }
  if (!hold.clamped) return { status: 'hold-too-small' }
  if (affordable === null || affordable < 1) return { status: 'insufficient-credits' }
  return { status: 'capped', maxTokens: affordable }
}

/** Whether the hold pays the exact input of a request without output. */
export function coversInput(hold: Hold, promptTokens: number): boolean {
  return affordableOf(hold, { input: promptTokens, limit: 0 }) !== null
}

function affordableOf(hold: Hold, tokens: { input: number; limit: number }): number | null {
  const prices = {
    inputPriceNano: BigInt(hold.inputPriceNano),
    outputPriceNano: BigInt(hold.outputPriceNano),
  }
  return affordableOutput(toNanoCredits(hold.amountNano), prices, tokens)
}
