import { LRUCache } from 'lru-cache'

/** How many tokens of output an answer probably has. */
export type Expectation = {
  /**
   * Few answers have more tokens than this. If the caller's balance is small, the first hold pays for this number of
   * tokens.
   */
  readonly likely: number
  /** Three of four answers have at most this number of tokens. */
  readonly usual: number
  /** The mean length of the answers, in tokens. Answers that were cut at a limit are included. */
  readonly mean: number
}

/** Predicts the output of an account's next answer from a model, by the lengths of earlier answers. */
export type ExpectedOutput = {
  expect(model: string, accountId: string): Expectation
  /** `isCut`: the output ended at a limit, so it would have been longer. */
  learn(model: string, accountId: string, answer: { readonly tokens: number; readonly isCut: boolean }): void
}

const LIKELY_QUANTILE = 0.95
const USUAL_QUANTILE = 0.75
/** One tenth is added to the quantile, so that holds need not grow if all answers have about the same length. */
const MARGIN = 10
/**
 * The least value of `Expectation.likely`. A first hold for fewer tokens would often have to grow, and each growth
 * costs a call to billing. To set aside a few tokens less is not worth that call.
 */
const LEAST_TOKENS = 256
/**
 * The expectation that is used until the lengths of `ENOUGH` answers are known. If its `likely` is too high, holds are
 * too large, and other requests of the account wait for credits. If its `likely` is too low, the answers of an account
 * with a small balance are cut.
 */
const UNLEARNED: Expectation = { likely: 1_024, usual: 128, mean: 256 }
/** The quantiles are used from this number of answers on: the 95 % quantile of fewer answers is their maximum. */
const ENOUGH = 20
/** The quantiles are taken from this number of latest answers. */
const REMEMBERED = 64
/** The most pairs of an account and a model that are remembered. Each takes 0.5 KB. */
const MAX_KNOWN = 10_000

/**
 * The expectation is taken from the lengths of answers that this gateway has completed:
 * - from the answers of the model to the account, if there are at least `ENOUGH`;
 * - else from the answers of the model to all accounts, if there are at least `ENOUGH`;
 * - else it is `UNLEARNED`.
 *
 * In the last two cases `likely` is at least as high as the account's longest answer. For `likely` and `usual`, an
 * answer that was cut at a limit counts only if it was longer than `likely`. For `mean`, every answer counts with its
 * real length, even if it was cut, because the same limit will probably cut the next answer.
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

/** The lengths of the latest answers. The expectation is computed when it is asked for. */
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

  /** With fewer than `ENOUGH` lengths, `likely` is their maximum plus the margin. */
  expectation(): Omit<Expectation, 'mean'> {
    if (this.#expectation !== null) return this.#expectation
    const sorted = this.#ring.slice(0, Math.min(this.#noted, REMEMBERED)).sort()
    const quantile = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
    this.#expectation = { likely: toExpected(quantile(LIKELY_QUANTILE)), usual: quantile(USUAL_QUANTILE) }
    return this.#expectation
  }
}
