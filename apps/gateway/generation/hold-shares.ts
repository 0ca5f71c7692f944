import type { Hold } from '#libs/contracts/generation-job.ts'

/**
 * The one hold of a request, as its choices share it. At first, each choice has an equal share of the output tokens. A
 * larger hold makes the share of the choice larger that asked for it.
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
  #last: Promise<void> | null = null

  constructor(hold: Hold, choices: number) {
    this.choices = choices
    this.#whole = hold
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
    const added = whole.outputTokens - this.#whole.outputTokens
    const before = this.#tokens[choice]
    if (before !== undefined) this.#tokens[choice] = before + added
    this.#whole = whole
    return this.of(choice)
  }

  replaced(choice: number, whole: Hold): Hold {
    if (!this.#isReplaced) {
      this.#isReplaced = true
      this.#whole = whole
      this.#divide()
    }
    return this.of(choice)
  }

  async inTurn(work: () => Promise<void>) {
    const turn = this.#last === null ? work() : this.#last.then(work)
    const last = turn.catch(() => undefined)
    this.#last = last
    await turn.finally(() => {
      if (this.#last === last) this.#last = null
    })
  }

  #divide() {
    if (this.choices === 1) return
    const { outputTokens } = this.#whole
    const each = Math.floor(outputTokens / this.choices)
    const rest = outputTokens - each * this.choices
    this.#tokens = Array.from({ length: this.choices }, (_, choice) => each + (choice < rest ? 1 : 0))
  }
}
