import { LRUCache } from 'lru-cache'

/**
 * How much output the generations of an account and a model probably have. A hold on a small balance pays for this much
 * at first.
 */
export type ExpectedOutput = {
  /** Returns a number of tokens that an answer seldom exceeds. */
  expect(model: string, accountId: string): number
  /** `isCut`: the output ended at a limit, so it would have been longer. */
  learn(model: string, accountId: string, answer: { readonly tokens: number; readonly isCut: boolean }): void
}

const QUANTILE = 0.95
/** A hold exceeds the quantile by a tenth, so that holds of answers of about one length do not have to grow. */
const MARGIN = 10
/** Growing costs a call of billing, which a smaller hold would not be worth. */
const LEAST_TOKENS = 256
/** The expectation before enough is known. Too much makes other calls wait, too little cuts answers on a small balance. */
const UNLEARNED_TOKENS = 1_024
/** The quantile of fewer answers would be little more than their maximum. */
const ENOUGH = 20
/** The answers from which the quantile is taken. */
const REMEMBERED = 64
/** Pairs of an account and a model, at 0.5 KB each. */
const MAX_KNOWN = 10_000

/**
 * Learns from the completed answers of this gateway. Until it knows enough answers of an account, it expects what all
 * accounts have of that model, and until it knows enough of these, `UNLEARNED_TOKENS`; in each case at least the longest
 * answer that the account had. A cut answer counts only if it was longer than expected.
 */
export function createExpectedOutput(): ExpectedOutput {
  const ofModels = new LRUCache<string, Lengths>({ max: MAX_KNOWN })
  const ofAccounts = new LRUCache<string, Lengths>({ max: MAX_KNOWN })

  function expect(model: string, accountId: string): number {
    const own = ofAccounts.get(`${model} ${accountId}`)
    if (own?.isEnough() === true) return toExpected(own.quantile())
    const ofModel = ofModels.get(model)
    const usual = ofModel?.isEnough() === true ? toExpected(ofModel.quantile()) : UNLEARNED_TOKENS
    return Math.max(usual, toExpected(own?.quantile() ?? 0))
  }

  return {
    expect,
    learn(model, accountId, { tokens, isCut }) {
      if (isCut && tokens <= expect(model, accountId)) return
      noteIn(ofModels, model, tokens)
      noteIn(ofAccounts, `${model} ${accountId}`, tokens)
    },
  }
}

const toExpected = (tokens: number) => Math.max(LEAST_TOKENS, tokens + Math.ceil(tokens / MARGIN))

function noteIn(known: LRUCache<string, Lengths>, name: string, tokens: number): void {
  const lengths = known.get(name) ?? new Lengths()
  known.set(name, lengths)
  lengths.note(tokens)
}

/** The latest lengths, and their quantile, which is computed when it is needed. */
class Lengths {
  readonly #ring = new Uint32Array(REMEMBERED)
  #noted = 0
  #quantile: number | null = null

  note(tokens: number) {
    this.#ring[this.#noted % REMEMBERED] = tokens
    this.#noted += 1
    this.#quantile = null
  }

  isEnough() {
    return this.#noted >= ENOUGH
  }

  /** With fewer than `ENOUGH` lengths, their maximum. */
  quantile() {
    if (this.#quantile !== null) return this.#quantile
    const sorted = this.#ring.slice(0, Math.min(this.#noted, REMEMBERED)).sort()
    this.#quantile = sorted[Math.ceil(sorted.length * QUANTILE) - 1] ?? 0
    return this.#quantile
  }
}
