import type { GenerationClaimed, Usage } from '#libs/contracts/generation-event.ts'

/** The usage of one generation, as far as its gateway has received it, over all of its epochs. */
export type Progress = {
  claimed(claim: Pick<GenerationClaimed, 'promptTokens' | 'after' | 'guided'>): void
  promptCached(tokens: number): void
  /** Notes that vectors were received. `promptTokens` is the sum over the inputs of these vectors. */
  vectorsReceived(promptTokens: number): void
  /** Notes how many tokens of the input the engine was given, as the worker reports them after the caller has left. */
  reported(promptTokens: number): void
  /** Notes that the current epoch's engine has given output. */
  outputSeen(): void
  /**
   * Notes that an epoch has ended without a `generation-end`. The epoch counts in `fruitlessEpochs` if it gave no
   * output. If the worker handed the generation back because the engine was lost (`wasHandedBack`), the epoch counts
   * only if the gateway had received the worker's claim.
   */
  epochLost(end: { readonly wasHandedBack: boolean }): void
  wasClaimed(): boolean
  /** True if the claim of the current epoch has arrived. */
  hasBegun(): boolean
  /**
   * True if a grammar constrains the generation. Grammars begin at their root, so the generation can be repeated but
   * not continued.
   */
  isGuided(): boolean
  /** Returns the number of epochs in a row without output. */
  fruitlessEpochs(): number
  /**
   * Returns the usage for which the caller pays if it leaves now. For a chat: every received token, and the prompt if a
   * worker has claimed the generation. For embeddings: the inputs whose vectors were received. The worker's report
   * counts if it has more.
   */
  received(completionTokens: number): Usage
  /**
   * Returns the usage of a complete output. The prompt is counted once. The number of cached tokens is taken from the
   * first epoch that reported one. Epochs that continue earlier output are ignored here, because they also find that
   * output in the cache.
   */
  complete(reported: Usage): Usage
}

export function createProgress(kind: 'chat' | 'embedding'): Progress {
  return new GenerationProgress(kind)
}

/**
 * A gateway has one object of this class for each open stream. Methods of a class are shared; ten closures for each
 * object would take 0.6 KB.
 */
class GenerationProgress implements Progress {
  readonly #kind: 'chat' | 'embedding'
  #promptTokens: number | null = null
  #vectorTokens = 0
  #cachedTokens: number | null = null
  #after = 0
  #guided = false
  #hasBegun = false
  #hasOutput = false
  #fruitless = 0

  constructor(kind: 'chat' | 'embedding') {
    this.#kind = kind
  }

  claimed({ promptTokens, after, guided }: Pick<GenerationClaimed, 'promptTokens' | 'after' | 'guided'>) {
    this.#promptTokens ??= promptTokens
    this.#after = after
    this.#hasBegun = true
    this.#guided = guided
  }

  promptCached(tokens: number) {
    // A continued epoch finds its own earlier output in the cache as well, so its cached tokens are not counted.
    if (this.#after === 0) this.#cachedTokens ??= tokens
  }

  vectorsReceived(promptTokens: number) {
    this.#vectorTokens += promptTokens
  }

  reported(promptTokens: number) {
    if (this.#kind === 'embedding') this.#vectorTokens = Math.max(this.#vectorTokens, promptTokens)
    else if (promptTokens > 0) this.#promptTokens ??= promptTokens
  }

  outputSeen() {
    this.#hasOutput = true
    this.#fruitless = 0
  }

  epochLost({ wasHandedBack }: { readonly wasHandedBack: boolean }) {
    if (!this.#hasOutput && (this.#hasBegun || !wasHandedBack)) this.#fruitless += 1
    this.#hasBegun = false
    this.#hasOutput = false
  }

  wasClaimed() {
    return this.#promptTokens !== null
  }

  hasBegun() {
    return this.#hasBegun
  }

  isGuided() {
    return this.#guided
  }

  fruitlessEpochs() {
    return this.#fruitless
  }

  received(completionTokens: number): Usage {
    return {
      promptTokens: this.#kind === 'embedding' ? this.#vectorTokens : (this.#promptTokens ?? 0),
      cachedTokens: this.#cachedTokens ?? 0,
      completionTokens,
      reasoningTokens: 0,
    }
  }

  complete(reported: Usage): Usage {
    return {
      ...reported,
      promptTokens: this.#promptTokens ?? reported.promptTokens,
      cachedTokens: this.#cachedTokens ?? (this.#after === 0 ? reported.cachedTokens : 0),
    }
  }
}
