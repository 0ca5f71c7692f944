import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'

export type OutputCap =
  /** The engine may write `maxTokens` tokens. The hold pays for the first `paidTokens` of them, and may grow. */
  | { readonly status: 'capped'; readonly maxTokens: number; readonly paidTokens: number }
  /**
   * The gateway's estimate of the input was too low, and the account's credits did not limit the hold: a hold for the
   * counted input is needed.
   */
  | { readonly status: 'hold-too-small' }
  /**
   * The account's credits limited the hold, and the hold does not pay for the counted input plus one token of output.
   */
  | { readonly status: 'insufficient-credits' }
  /** The prompt leaves no room for a token in the context window. */
  | { readonly status: 'prompt-too-long' }

/**
 * Returns two numbers of output tokens:
 * - `maxTokens` is the cap for the engine: the caller's limit within the context window.
 * - `paidTokens` is how many of these tokens the hold pays for, after it has paid for the counted input
 *   (`promptTokens`).
 *
 * The run delivers only paid tokens (`paid-output.ts`). So no charge can exceed its hold, and a wrong estimate of the
 * input neither creates debt nor shortens an answer that could be paid.
 *
 * A hold that the credits did not limit (`hold.clamped` is false) is large enough if it pays for the output for which
 * it was granted (`hold.outputTokens`). The caller's limit may be higher than this output, because the hold can grow.
 *
 * A caller's limit of 0 asks for the prompt alone, with its log probabilities. The hold then pays only for the prompt.
 * The prompt must still leave room for a token in the context window, because engines generate at least one token.
 */
export function capOutput(job: GenerationJob, promptTokens: number, contextWindow: number): OutputCap {
  const room = contextWindow - promptTokens
  if (room < 1) return { status: 'prompt-too-long' }

  const { hold } = job
  const wanted = Math.min(job.maxOutputTokens, room)
  const paidTokens = affordableOf(hold, { input: promptTokens, limit: wanted })
  const least = Math.min(1, wanted)
  if (!hold.clamped && (paidTokens ?? -1) < Math.min(wanted, hold.outputTokens)) {
    return { status: 'hold-too-small' }
  }
  if (paidTokens === null || paidTokens < least) return { status: 'insufficient-credits' }
  return { status: 'capped', maxTokens: wanted, paidTokens }
}

/** Returns for how many tokens of output this hold pays after the prompt is paid, at most `limit`. */
export function paidOutput(hold: Hold, tokens: { input: number; limit: number }): number {
  return affordableOf(hold, tokens) ?? 0
}

export type OutputFit =
  /**
   * The engine may still write `maxTokens` tokens. `maxTokens` is 0 if earlier epochs have written all tokens that are
   * allowed. It is 1 if the caller's limit is 0; this token is not a part of the output. `mostTokens` is the number of
   * tokens that all epochs together may write; the hold pays for the first `paidTokens` of them.
   */
  | {
      readonly status: 'fits'
      readonly maxTokens: number
      readonly paidTokens: number
      readonly mostTokens: number
    }
  /**
   * The generation needs an engine with a context window of at least `window` tokens. The catalog gives the model a
   * window of at least this size.
   */
  | { readonly status: 'window-too-small'; readonly window: number }
  | Exclude<OutputCap, { readonly status: 'capped' }>

/**
 * Returns how much output is left for an engine with this context window.
 * - `prompt` is the number of prompt tokens that are billed.
 * - `rendered` is the length of the prompt as the engine gets it now.
 * - `written` is the output of earlier epochs, which counts towards the cap.
 */
export function fitOutput(
  job: GenerationJob,
  tokens: { readonly prompt: number; readonly rendered: number; readonly written: number },
  engineWindow: number,
): OutputFit {
  const cap = capOutput(job, tokens.prompt, job.contextWindow)
  if (cap.status !== 'capped') return cap
  const used = tokens.rendered + tokens.written
  const most = Math.max(1, cap.maxTokens)
  const left = Math.max(0, Math.min(most - tokens.written, job.contextWindow - used))
  if (left > 0 && used >= engineWindow) return { status: 'window-too-small', window: used + 1 }
  const { paidTokens, maxTokens: mostTokens } = cap
  return {
    status: 'fits',
    maxTokens: left === 0 ? 0 : Math.min(left, engineWindow - used),
    paidTokens,
    mostTokens,
  }
}

/** Returns whether the hold pays for the counted input of a request without output. */
export function coversInput(hold: Hold, promptTokens: number): boolean {
  return affordableOf(hold, { input: promptTokens, limit: 0 }) !== null
}

/**
 * Returns null if the hold does not pay for the input.
 *
 * A hold that choices share pays for no more output of a choice than the share of this choice, even if the input has
 * fewer tokens than were estimated: otherwise each choice would use the same spare credits. If the input has more
 * tokens, the output that the hold still pays for is divided in proportion to the shares. If output is free, there is
 * nothing to share.
 */
function affordableOf(hold: Hold, tokens: { input: number; limit: number }): number | null {
  const prices = {
    inputPriceNano: BigInt(hold.inputPriceNano),
    outputPriceNano: BigInt(hold.outputPriceNano),
  }
  const amount = toNanoCredits(hold.amountNano)
  const { otherTokens } = hold
  if (otherTokens === undefined || prices.outputPriceNano === 0n)
    return affordableOutput(amount, prices, tokens)
  const all = hold.outputTokens + otherTokens
  const ofAll = affordableOutput(amount, prices, { input: tokens.input, limit: all })
  if (ofAll === null || all === 0) return null
  return Math.min(tokens.limit, Math.floor((ofAll * hold.outputTokens) / all))
}
