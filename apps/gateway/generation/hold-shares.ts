import type { Hold } from '#libs/contracts/generation-job.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { affordableOutput } from '#libs/money/price.ts'

/**
 * The one hold of a request, as its choices share it. At first, each choice has an equal share of the output tokens. A
 * larger hold makes the share of the choice larger that asked for it. The tokens that a complete choice has left are
 * spare: the other choices use them before the hold grows.
 *
 * If the hold pays for less output than the shares have together, because the prompt has more tokens than were
 * estimated, the output that the hold pays for is divided in proportion to the shares (`cap-output.ts` of the worker).
 */
export type HoldShares = {
  readonly choices: number
  /** Returns the hold of the request, as billing granted it last. */
  whole(): Hold
  /** Returns the hold with which this choice runs. A request with one choice has the whole hold. */
  of(choice: number): Hold
  /** Notes that a worker runs a choice with its share. */
  claimed(): void
  /**
   * Notes that the hold has grown for this choice, and returns the choice's hold. If the choice is already complete,
   * the added tokens are spare.
   */
  grown(choice: number, whole: Hold): Hold
  /**
   * Replaces the hold by the hold that `ask` resolves with, which pays for the input tokens that a worker has counted.
   * Returns the choice's hold. `ask` is not called if the hold was replaced for as many tokens before: all choices have
   * the same prompt. If no worker runs a choice yet, the new hold is shared anew. Otherwise the output tokens that the
   * new hold no longer pays for are taken from the spare tokens first, then from this choice. Rejects if `ask` rejects.
   */
  replace(choice: number, promptTokens: number, ask: (whole: Hold) => Promise<Hold>): Promise<Hold>
  /** Adds up to `moreTokens` spare tokens to the share of this choice. Returns how many were added. */
  takeSpare(choice: number, moreTokens: number): number
  /** Notes that this choice is complete, with this usage. */
  completed(choice: number, usage: { readonly promptTokens: number; readonly completionTokens: number }): void
  isComplete(choice: number): boolean
  /** True if there are spare tokens, or if several choices are not complete and may leave spare tokens. */
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
  /** The input tokens for which the hold was replaced; 0 if it was not. */
  #countedTokens = 0
  #isClaimed = false
  #spare = 0
  readonly #complete: number[] = []
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

  claimed() {
    this.#isClaimed = true
  }

  grown(choice: number, whole: Hold): Hold {
    const tokens = whole.outputTokens - this.#whole.outputTokens
    if (this.isComplete(choice)) this.#spare += tokens
    else this.#add(choice, tokens)
    this.#whole = whole
    return this.of(choice)
  }

  async replace(choice: number, promptTokens: number, ask: (whole: Hold) => Promise<Hold>): Promise<Hold> {
    await this.inTurn(async () => {
      if (promptTokens <= this.#countedTokens) return
      const before = this.#whole.outputTokens
      this.#whole = await ask(this.#whole)
      this.#countedTokens = promptTokens
      const missing = before - this.#whole.outputTokens
      if (missing === 0) return
      if (!this.#isClaimed) return this.#divide()
      const ofSpare = Math.min(this.#spare, missing)
      this.#spare -= ofSpare
      this.#add(choice, ofSpare - missing)
    })
    return this.of(choice)
  }

  takeSpare(choice: number, moreTokens: number): number {
    const taken = Math.min(this.#spare, moreTokens)
    this.#spare -= taken
    this.#add(choice, taken)
    return taken
  }

  completed(choice: number, usage: { readonly promptTokens: number; readonly completionTokens: number }) {
    this.#complete.push(choice)
    const share = this.#tokens[choice]
    if (share === undefined) return
    // Output that is free is not limited by the share.
    const used = Math.min(share, this.#toShare(usage))
    this.#tokens[choice] = used
    this.#spare += share - used
  }

  isComplete(choice: number): boolean {
    return this.#complete.includes(choice)
  }

  mayGetSpare(): boolean {
    return this.#spare > 0 || this.choices - this.#complete.length > 1
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
    if (before !== undefined) this.#tokens[choice] = Math.max(0, before + tokens)
  }

  /** Returns the tokens of a share that pay for the output of this usage. */
  #toShare({ promptTokens, completionTokens }: { promptTokens: number; completionTokens: number }): number {
    const { amountNano, inputPriceNano, outputPriceNano, outputTokens } = this.#whole
    const prices = { inputPriceNano: BigInt(inputPriceNano), outputPriceNano: BigInt(outputPriceNano) }
    const tokens = { input: promptTokens, limit: outputTokens }
    const paid = affordableOutput(toNanoCredits(amountNano), prices, tokens) ?? 0
    return paid === 0 ? outputTokens : Math.ceil((completionTokens * outputTokens) / paid)
  }

  #divide() {
    if (this.choices === 1) return
    const { outputTokens } = this.#whole
    const each = Math.floor(outputTokens / this.choices)
    const rest = outputTokens - each * this.choices
    this.#tokens = Array.from({ length: this.choices }, (_, choice) => each + (choice < rest ? 1 : 0))
  }
}
