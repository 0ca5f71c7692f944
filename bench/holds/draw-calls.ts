import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { modelSpec } from '../../test/support/model-spec.ts'
import type { Random } from '../scaling/random.ts'

/** How the credits of an account compare with the cost of its calls. */
export const WEALTHS = ['small', 'medium', 'rich'] as const
export type Wealth = (typeof WEALTHS)[number]

export type DrawnAccount = {
  readonly wealth: Wealth
  /** The credits at the beginning. An account that has less than `refillBelow` soon gets this amount again. */
  readonly credits: bigint
  readonly refillBelow: bigint
}

/** The caller's limit of output: near the answer's length, none, or ten times the length. */
const LIMITS = ['honest', 'none', 'high'] as const

export type DrawnCall = {
  readonly atMs: number
  /** The index of the account. */
  readonly account: number
  readonly model: ModelSpec
  readonly promptTokens: number
  readonly promptBytes: number
  readonly maxOutputTokens: number | null
  /** The tokens of each answer, if nothing cuts it. */
  readonly answers: readonly number[]
}

const WINDOW = 65_536

/**
 * Models with short and with long answers, and prices of a token in nano-credits. The mean numbers of output tokens of
 * the accounts are spread evenly, on a logarithmic scale, over `means`.
 */
const USED = [
  { id: 'quick', maxOutputTokens: 4_096, input: 200, output: 600, means: [60, 400] },
  { id: 'large', maxOutputTokens: 8_192, input: 2_000, output: 8_000, means: [100, 800] },
  { id: 'thinking', maxOutputTokens: 16_384, input: 500, output: 1_500, means: [400, 2_500] },
].map(({ id, maxOutputTokens, input, output, means: [low = 0, high = 0] }) => ({
  low,
  high,
  model: modelSpec({
    id,
    maxOutputTokens,
    contextWindow: WINDOW,
    inputPriceNano: String(input * 1_000_000),
    cachedInputPriceNano: String(input * 250_000),
    outputPriceNano: String(output * 1_000_000),
  }),
}))

export const MODELS: readonly ModelSpec[] = USED.map(({ model }) => model)

const PER_WEALTH = 12
/** For how many mean calls the credits pay. */
const CALLS_PAID = { small: [3, 12], medium: [20, 100], rich: [50_000, 50_000] } as const
/** The mean time between two groups of calls of an account. The calls of a group begin at once. */
const GAP_MS = { small: 20_000, medium: 12_000, rich: 12_000 } as const
const MOST_AT_ONCE = 5
const SEVERAL_SHARE = 0.08
const MOST_CHOICES = 4

/** Draws accounts and the first `count` of their calls. The same seed gives the same calls. */
export function drawCalls(random: Random, count: number): { accounts: DrawnAccount[]; calls: DrawnCall[] } {
  const between = (low: number, high: number) => low + (high - low) * random.uniform()
  const pick = <Value>(values: readonly Value[]): Value => {
    const value = values[Math.floor(random.uniform() * values.length)]
    if (value === undefined) throw new Error('there is nothing to pick')
    return value
  }
  /** More calls than any account has among the first `count` of all. */
  const most = Math.ceil(count / PER_WEALTH)
  const accounts: DrawnAccount[] = []
  const calls: DrawnCall[] = []

  function drawAccount(wealth: Wealth): void {
    // Each account uses one or two models, and has its own lengths of answers on each.
    const uses = Array.from({ length: random.uniform() < 0.3 ? 2 : 1 }, () => {
      const { model, low, high } = pick(USED)
      const mean = low * (high / low) ** random.uniform()
      return { model, mean, spread: between(0.3, 0.9), prompt: between(80, 1_500) }
    })
    const cost = uses.reduce(
      (sum, { model, mean, prompt }) =>
        sum +
        Math.round(prompt) * Number(model.inputPriceNano) +
        Math.round(mean) * Number(model.outputPriceNano),
      0,
    )
    const meanCost = BigInt(Math.round(cost / uses.length / 1_000_000))
    const [least, more] = CALLS_PAID[wealth]
    const credits = meanCost * BigInt(Math.round(between(least, more)))
    const account = accounts.push({ wealth, credits, refillBelow: meanCost * 2n }) - 1
    for (let atMs = 0, ownCalls = 0; ownCalls < most;) {
      atMs -= Math.log(1 - random.uniform()) * GAP_MS[wealth]
      const use = pick(uses)
      const atOnce = 1 + Math.floor(random.uniform() ** 2 * MOST_AT_ONCE)
      for (let index = 0; index < atOnce; index += 1) calls.push(drawCall({ atMs, account, ...use }))
      ownCalls += atOnce
    }
  }

  function drawCall(of: {
    atMs: number
    account: number
    model: ModelSpec
    mean: number
    spread: number
    prompt: number
  }): DrawnCall {
    const { atMs, account, model } = of
    const promptTokens = Math.max(5, Math.round(random.lognormal(of.prompt, 0.4)))
    const choices =
      random.uniform() < SEVERAL_SHARE ? 2 + Math.floor(random.uniform() * (MOST_CHOICES - 1)) : 1
    const answers = Array.from({ length: choices }, () =>
      Math.min(model.maxOutputTokens, Math.max(1, Math.round(random.lognormal(of.mean, of.spread)))),
    )
    const longest = Math.max(...answers)
    const limits = { honest: Math.ceil(longest * between(1, 1.5)), none: null, high: longest * 10 }
    return {
      atMs: Math.round(atMs),
      account,
      model,
      promptTokens,
      promptBytes: Math.round(promptTokens * between(3.2, 4.8)),
      maxOutputTokens: limits[pick(LIMITS)],
      answers,
    }
  }

  for (const wealth of WEALTHS) for (let index = 0; index < PER_WEALTH; index += 1) drawAccount(wealth)
  calls.sort((a, b) => a.atMs - b.atMs)
  return { accounts, calls: calls.slice(0, count) }
}
