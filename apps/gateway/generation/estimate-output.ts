export type OutputEstimate = {
  /** Returns how many tokens a generation with this limit will probably give. */
  estimate(model: string, limit: number): number
  learn(model: string, completionTokens: number): void
}

/** The assumed mean until the first generation of a model has ended. */
const UNLEARNED_TOKENS = 256
/** Weight of the newest generation in the moving mean. */
const MEAN_SHARE = 0.02

/**
 * Keeps the mean output of each model's generations. The fair queue advances an account's tag by the expected cost of
 * each generation, and this estimate is a part of that cost.
 */
export function createOutputEstimate(): OutputEstimate {
  const means = new Map<string, number>()
  return {
    estimate: (model, limit) => Math.min(limit, Math.round(means.get(model) ?? UNLEARNED_TOKENS)),
    learn(model, completionTokens) {
      const mean = means.get(model) ?? UNLEARNED_TOKENS
      means.set(model, mean + (completionTokens - mean) * MEAN_SHARE)
    },
  }
}
