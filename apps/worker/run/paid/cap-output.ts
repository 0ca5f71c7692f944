import type { GenerationJob, Hold } from '#libs/contracts/generation-job.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'

export type OutputCap =
  /**
   * The engine may write `maxTokens` tokens for each choice. The hold pays for the first `paidTokens` tokens of all
   * choices together, and may grow.
   */
  | { readonly status: 'capped'; readonly maxTokens: number; readonly paidTokens: number }
  /**
   * The gateway's estimate of the input was too low, and the account's credits did not limit the hold: a hold for the
   * counted input is needed.
   */
  | { readonly status: 'hold-too-small' }
  /**
   * The account's credits limited the hold, and the hold does not pay for the counted input plus one token of output
   * for each choice.
   */
  | { readonly status: 'insufficient-credits' }
  /** The prompt leaves no room for a token in the context window. */
  | { readonly status: 'prompt-too-long' }

/**
 * Returns two numbers of output tokens:
 * - `maxTokens` is the cap of each choice for the engine: the caller's limit within the context window.
 * - `paidTokens` is how many tokens of all choices the hold pays for, after it has paid for the counted input
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

  const { hold, choices = 1 } = job
  const maxTokens = Math.min(job.maxOutputTokens, room)
  const wanted = choices * maxTokens
  const paidTokens = affordableOf(hold, { input: promptTokens, limit: wanted })
  if (!hold.clamped && (paidTokens ?? -1) < Math.min(wanted, hold.outputTokens)) {
    return { status: 'hold-too-small' }
  }
  if (paidTokens === null || paidTokens < Math.min(choices, wanted)) return { status: 'insufficient-credits' }
  return { status: 'capped', maxTokens, paidTokens }
}

/** Returns for how many tokens of output this hold pays after the prompt is paid, at most `limit`. */
export function paidOutput(hold: Hold, tokens: { input: number; limit: number }): number {
  return affordableOf(hold, tokens) ?? 0
}

export type OutputFit =
  /**
   * The engine may still write `maxTokens` tokens for each choice that has not ended. Such a number is 0 if earlier epochs
   * have written all tokens of the choice that are allowed. It is 1 if the caller's limit is 0; this token is not a part
   * of the output. `mostTokens` is the number of tokens that all choices and epochs together may have; the hold pays for
   * the first `paidTokens` of them.
   */
  | {
      readonly status: 'fits'
      readonly maxTokens: readonly number[]
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
 * - `written` is the output of earlier epochs for each choice that has not ended. It counts towards the cap.
 * - `ended` is the output of the choices that have ended.
 */
export function fitOutput(
  job: GenerationJob,
  tokens: {
    readonly prompt: number
    readonly rendered: number
    readonly written: readonly number[]
    readonly ended: number
  },
  engineWindow: number,
): OutputFit {
  const cap = capOutput(job, tokens.prompt, job.contextWindow)
  if (cap.status !== 'capped') return cap
  const most = Math.max(1, cap.maxTokens)
  let window = 0
  const maxTokens = tokens.written.map((written) => {
    const used = tokens.rendered + written
    const left = Math.max(0, Math.min(most - written, job.contextWindow - used))
    if (left > 0 && used >= engineWindow) window = Math.max(window, used + 1)
    return left === 0 ? 0 : Math.min(left, engineWindow - used)
  })
  if (window > 0) return { status: 'window-too-small', window }
  const mostTokens = maxTokens.reduce(
    (sum, more, index) => sum + Math.min(cap.maxTokens, (tokens.written[index] ?? 0) + more),
    tokens.ended,
  )
  return { status: 'fits', maxTokens, paidTokens: cap.paidTokens, mostTokens }
}

/** Returns whether the hold pays for the counted input of a request without output. */
export function coversInput(hold: Hold, promptTokens: number): boolean {
  return affordableOf(hold, { input: promptTokens, limit: 0 }) !== null
}

/** Returns null if the hold does not pay for the input. */
function affordableOf(hold: Hold, tokens: { input: number; limit: number }): number | null {
  const prices = {
    inputPriceNano: BigInt(hold.inputPriceNano),
    outputPriceNano: BigInt(hold.outputPriceNano),
  }
  return affordableOutput(toNanoCredits(hold.amountNano), prices, tokens)
}
