import { LRUCache } from 'lru-cache'

/** How many tokens of output an answer probably has. */
export type Expectation = {
  /** Answers seldom exceed it. A hold on a small balance pays for this much at first. */
  readonly likely: number
  /** Three of four answers do not exceed it. */
  readonly usual: number
  /** The mean of the answers, those included that a limit has cut. */
  readonly mean: number
}

/** Learns how much output the generations of an account and a model have. */
export type ExpectedOutput = {
  expect(model: string, accountId: string): Expectation
  /** `isCut`: the output ended at a limit, so it would have been longer. */
  learn(model: string, accountId: string, answer: { readonly tokens: number; readonly isCut: boolean }): void
}

const LIKELY_QUANTILE = 0.95
const USUAL_QUANTILE = 0.75
/** A hold exceeds the quantile by a tenth, so that holds of answers of about one length do not have to grow. */
const MARGIN = 10
/** Growing costs a call of billing, which a smaller hold would not be worth. */
const LEAST_TOKENS = 256
/** The expectation before enough is known. Too much makes other calls wait, too little cuts answers on a small balance. */
const UNLEARNED: Expectation = { likely: 1_024, usual: 128, mean: 256 }
/** The quantile of fewer answers would be little more than their maximum. */
const ENOUGH = 20
/** The answers from which the quantile is taken. */
const REMEMBERED = 64
/** Pairs of an account and a model, at 0.5 KB each. */
const MAX_KNOWN = 10_000

/**
 * Learns from the completed answers of this gateway. Until it knows enough answers of an account, it expects what all
 * accounts have of that model, and until it knows enough of these, `UNLEARNED`; in each case at least the longest answer
 * that the account had. For these lengths a cut answer counts only if it was longer than expected; in the mean it counts
 * as it was, because the same limit will probably cut the next one.
 */
export function createExpectedOutput(): ExpectedOutput {
  const ofModels = new LRUCache<string, Lengths>({ max: MAX_KNOWN })
  const ofAccounts = new LRUCache<string, Lengths>({ max: MAX_KNOWN })

  function expect(model: string, accountId: string): Expectation {
    const own = ofAccounts.get(`${model} ${accountId}`)
    const ofModel = ofModels.get(model)
    const mean = own?.mean() ?? ofModel?.mean() ?? UNLEARNED.mean
    const ofOwn = own?.expectation()
    if (own?.isEnough() === true && ofOwn !== undefined) return { ...ofOwn, mean }
    const { likely, usual } = ofModel?.isEnough() === true ? ofModel.expectation() : UNLEARNED
    return { likely: Math.max(likely, ofOwn?.likely ?? 0), usual, mean }
  }

  return {
    expect,
    learn(model, accountId, { tokens, isCut }) {
      const isWhole = !isCut || tokens > expect(model, accountId).likely
      noteIn(ofModels, model, { tokens, isWhole })
      noteIn(ofAccounts, `${model} ${accountId}`, { tokens, isWhole })
    },
  }
}

const toExpected = (tokens: number) => Math.max(LEAST_TOKENS, tokens + Math.ceil(tokens / MARGIN))

type Answer = { readonly tokens: number; readonly isWhole: boolean }

function noteIn(known: LRUCache<string, Lengths>, name: string, { tokens, isWhole }: Answer): void {
  const lengths = known.get(name) ?? new Lengths()
  known.set(name, lengths)
  lengths.noteMean(tokens)
  if (isWhole) lengths.note(tokens)
}

/** The latest lengths, and what follows from them, which is computed when it is needed. */
class Lengths {
  readonly #ring = new Uint32Array(REMEMBERED)
  #noted = 0
  #expectation: Omit<Expectation, 'mean'> | null = null
  #averaged = 0
  #mean = 0

  noteMean(tokens: number) {
    this.#averaged = Math.min(this.#averaged + 1, REMEMBERED)
    this.#mean += (tokens - this.#mean) / this.#averaged
  }

  /** Returns null before enough answers are known. */
  mean(): number | null {
    return this.#averaged < ENOUGH ? null : this.#mean
  }

  note(tokens: number) {
    this.#ring[this.#noted % REMEMBERED] = tokens
    this.#noted += 1
    this.#expectation = null
  }

  isEnough() {
    return this.#noted >= ENOUGH
  }

  /** With fewer than `ENOUGH` lengths, the likely one is more than their maximum. */
  expectation(): Omit<Expectation, 'mean'> {
    if (this.#expectation !== null) return this.#expectation
    const sorted = this.#ring.slice(0, Math.min(this.#noted, REMEMBERED)).sort()
    const quantile = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
    this.#expectation = { likely: toExpected(quantile(LIKELY_QUANTILE)), usual: quantile(USUAL_QUANTILE) }
    return this.#expectation
  }
}
