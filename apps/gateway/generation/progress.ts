import type { GenerationClaimed, Usage } from '#libs/contracts/generation-event.ts'

/** What one generation has used, as far as its gateway has received it, over all of its epochs. */
export type Progress = {
  claimed(claim: Pick<GenerationClaimed, 'promptTokens' | 'after' | 'guided'>): void
  promptCached(tokens: number): void
  /** The vectors of inputs with so many tokens were received. */
  vectorsReceived(promptTokens: number): void
  /** The current epoch's engine has given something. */
  outputSeen(): void
  /** An epoch is over without an end. */
  epochLost(): void
  wasClaimed(): boolean
  /** A grammar constrains it, and grammars begin at their root: it can be repeated, not continued. */
  isGuided(): boolean
  /** Epochs in a row that gave nothing. */
  fruitlessEpochs(): number
  /** What a caller who leaves now pays: the prompt once a worker has taken it, and every token received. */
  received(completionTokens: number): Usage
  /** The usage of a complete output. The prompt is counted once, and cached tokens as its first run found them. */
  complete(reported: Usage): Usage
}

export function createProgress(kind: 'chat' | 'embedding'): Progress {
  let promptTokens: number | null = null
  let vectorTokens = 0
  let cachedTokens: number | null = null
  let after = 0
  let guided = false
  let hasOutput = false
  let fruitless = 0

  return {
    claimed(claim) {
      promptTokens ??= claim.promptTokens
      ;({ after, guided } = claim)
    },
    promptCached(tokens) {
      // A continued run finds its own output in the cache as well.
      if (after === 0) cachedTokens ??= tokens
    },
    vectorsReceived(tokens) {
      vectorTokens += tokens
    },
    outputSeen() {
      hasOutput = true
      fruitless = 0
    },
    epochLost() {
      if (!hasOutput) fruitless += 1
      hasOutput = false
    },
    wasClaimed: () => promptTokens !== null,
    isGuided: () => guided,
    fruitlessEpochs: () => fruitless,
    received: (completionTokens) => ({
      promptTokens: kind === 'embedding' ? vectorTokens : (promptTokens ?? 0),
      cachedTokens: cachedTokens ?? 0,
      completionTokens,
      reasoningTokens: 0,
    }),
    complete: (reported) => ({
      ...reported,
      promptTokens: promptTokens ?? reported.promptTokens,
      cachedTokens: cachedTokens ?? (after === 0 ? reported.cachedTokens : 0),
    }),
  }
}
