import type { Hold } from '#libs/contracts/generation-job.ts'

/**
 * The one hold of a request, as its choices share it. At first, each choice has an equal share of the output tokens. A
 * larger hold makes the share of the choice larger that asked for it. The tokens that a complete choice has left are
 * spare: the other choices use them before the hold grows.
 */
export type HoldShares = {
  readonly choices: number
  /** Returns the hold of the request, as billing granted it last. */
  whole(): Hold
  /** Returns the hold with which this choice runs. A request with one choice has the whole hold. */
  of(choice: number): Hold
  /** Notes that the hold has grown for this choice, and returns the choice's hold. */
  grown(choice: number, whole: Hold): Hold
  /**
   * Notes that the hold was replaced by a hold for the input tokens that a worker has counted, and returns the choice's
   * hold. All choices have the same prompt, so each of them may ask for the same hold; only the first answer counts.
   */
  replaced(choice: number, whole: Hold): Hold
  /** Adds up to `moreTokens` spare tokens to the share of this choice. Returns how many were added. */
  takeSpare(choice: number, moreTokens: number): number
  /** Notes that this choice is complete, with so many output tokens. */
  completed(choice: number, outputTokens: number): void
  /** True if several choices are not complete. Each of them may leave spare tokens for the others. */
  mayGetSpare(): boolean
  /**
   * Runs `work` after the work of all earlier calls. The choices let the hold grow one after the other, because each
   * asks for more output than the hold pays for at that moment. Rejects if `work` rejects.
   */
  inTurn(work: () => Promise<void>): Promise<void>
}

export function createHoldShares(hold: Hold, choices: number): HoldShares {
  return new Shares(hold, choices)
}

/** A class, because a gateway has one object for each request that it runs. */
class Shares implements HoldShares {
  readonly choices: number
  #whole: Hold
  /** Output tokens by choice; empty if there is one choice. */
  #tokens: number[] = []
  #isReplaced = false
  #spare = 0
  /** The number of choices that are not complete. */
  #open: number
  #last: Promise<void> | null = null

  constructor(hold: Hold, choices: number) {
    this.choices = choices
    this.#whole = hold
    this.#open = choices
    this.#divide()
  }

  whole() {
    return this.#whole
  }

  of(choice: number): Hold {
    const outputTokens = this.#tokens[choice]
    if (outputTokens === undefined) return this.#whole
    return { ...this.#whole, outputTokens, otherTokens: this.#whole.outputTokens - outputTokens }
  }

  grown(choice: number, whole: Hold): Hold {
    this.#add(choice, whole.outputTokens - this.#whole.outputTokens)
    this.#whole = whole
    return this.of(choice)
  }

  replaced(choice: number, whole: Hold): Hold {
    if (!this.#isReplaced) {
      this.#isReplaced = true
      const isSame = whole.outputTokens === this.#whole.outputTokens
      this.#whole = whole
      if (!isSame) this.#divide()
    }
    return this.of(choice)
  }

  takeSpare(choice: number, moreTokens: number): number {
    const taken = Math.min(this.#spare, moreTokens)
    this.#spare -= taken
    this.#add(choice, taken)
    return taken
  }

  completed(choice: number, outputTokens: number) {
    const share = this.#tokens[choice]
    this.#open -= 1
    if (share === undefined) return
    // Output that is free is not limited by the share.
    const used = Math.min(share, outputTokens)
    this.#tokens[choice] = used
    this.#spare += share - used
  }

  mayGetSpare(): boolean {
    return this.#open > 1
  }

  async inTurn(work: () => Promise<void>) {
    const turn = this.#last === null ? work() : this.#last.then(work)
    const last = turn.catch(() => undefined)
    this.#last = last
    await turn.finally(() => {
      if (this.#last === last) this.#last = null
    })
  }

  #add(choice: number, tokens: number) {
    const before = this.#tokens[choice]
    if (before !== undefined) this.#tokens[choice] = before + tokens
  }

  #divide() {
    if (this.choices === 1) return
    const { outputTokens } = this.#whole
    const each = Math.floor(outputTokens / this.choices)
    const rest = outputTokens - each * this.choices
    this.#tokens = Array.from({ length: this.choices }, (_, choice) => each + (choice < rest ? 1 : 0))
  }
}
