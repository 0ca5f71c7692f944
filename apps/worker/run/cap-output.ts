import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'

export type OutputCap =
  | { readonly status: 'capped'; readonly maxTokens: number }
  /**
   * The gateway's estimate of the input was too low, and the account's credits did not limit the hold: a hold for the
   * counted input is needed.
   */
  | { readonly status: 'hold-too-small' }
  /**
   * The account's credits limited the hold, and the hold does not pay for the counted input and one token of output.
   */
  | { readonly status: 'insufficient-credits' }
  /** The prompt leaves no room for a token in the context window. */
  | { readonly status: 'prompt-too-long' }

/**
 * Turns the hold's amount into the engine's output cap: the number of tokens for which the amount pays after the
 * counted input, `promptTokens`. The context window and the caller's limit bound the cap as well. So no charge can
 * exceed its hold, and a wrong estimate of the input neither creates debt nor shortens an answer that could be paid.
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

export type OutputFit =
  /** The engine may still give `maxTokens`; 0 if earlier epochs have written all tokens that are allowed. */
  | { readonly status: 'fits'; readonly maxTokens: number }
  /** The generation needs an engine with a context window of at least `window` tokens. The model allows that many. */
  | { readonly status: 'window-too-small'; readonly window: number }
  | Exclude<OutputCap, { readonly status: 'capped' }>

/**
 * Returns the output that is left for an engine with this context window. `prompt` is the number of prompt tokens that
 * are billed, `rendered` the length of the prompt as the engine gets it now, and `written` the output of earlier
 * epochs, which counts towards the cap.
 */
export function fitOutput(
  job: GenerationJob,
  tokens: { readonly prompt: number; readonly rendered: number; readonly written: number },
  engineWindow: number,
): OutputFit {
  const cap = capOutput(job, tokens.prompt, job.contextWindow)
  if (cap.status !== 'capped') return cap
  const used = tokens.rendered + tokens.written
  const left = Math.max(0, Math.min(cap.maxTokens - tokens.written, job.contextWindow - used))
  if (left > 0 && used >= engineWindow) return { status: 'window-too-small', window: used + 1 }
  return { status: 'fits', maxTokens: left === 0 ? 0 : Math.min(left, engineWindow - used) }
}

/** Returns whether the hold pays for the counted input of a request without output. */
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
