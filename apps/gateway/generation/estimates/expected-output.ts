import { LRUCache } from 'lru-cache'

/** How many tokens of output an answer probably has. */
export type Expectation = {
  /**
   * Few answers have more tokens than this. If the caller's balance is small, the first hold pays for this number of
   * tokens.
   */
  readonly likely: number
  /** Three of four answers have at most this number of tokens. While few answers are known, it is rather too high. */
  readonly usual: number
  /** Three of four answers of the account have had at most this number of tokens; 0 before its first answer. */
  readonly ownUsual: number
  /** True if `likely` and `usual` are known from the account's own answers alone. */
  readonly isOwn: boolean
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
/**
 * At least one tenth is added to the quantile, so that holds need not grow if all answers have about the same length. Of
 * fewer than 40 answers more is added, up to the whole of it, because the next answer is often longer than the longest
 * of a few.
 */
const MARGIN = 10
const ANSWERS_PER_SHARE = 4
/**
 * The least value of `Expectation.likely`. A first hold for fewer tokens would often have to grow, and each growth
 * costs a call to billing. To set aside a few tokens less is not worth that call.
 */
const LEAST_TOKENS = 256
/**
 * The expectation that is used before the first answer. If its `likely` is too high, holds are too large, and other
 * requests of the account wait for credits. If its `likely` is too low, the answers of an account with a small balance
 * are cut.
 */
const UNLEARNED = { likely: 1_024, usual: 128, mean: 256 } as const
/** From this number of answers on, they alone decide: the 95 % quantile of fewer answers is their maximum. */
const ENOUGH = 20
/** The quantiles are taken from this number of latest answers. */
const REMEMBERED = 64
/** The most pairs of an account and a model that are remembered. Each takes 0.5 KB. */
const MAX_KNOWN = 10_000

/**
 * The expectation is taken from the lengths of answers that this gateway has completed. The model's answers to all
 * accounts replace a prior expectation, and the model's answers to the account replace the result: after n answers, one
 * n-th of the replaced expectation still counts, because one answer says little and twenty say enough.
 *
 * For `likely` and `usual`, an answer that was cut at a limit counts only if it was longer than `likely`. For `mean`,
 * every answer counts with its real length, even if it was cut, because the same limit will probably cut the next
 * answer.
 */
export function createExpectedOutput(): ExpectedOutput {
  const ofModels = new LRUCache<string, Lengths>({ max: MAX_KNOWN })
  const ofAccounts = new LRUCache<string, Lengths>({ max: MAX_KNOWN })

  function expect(model: string, accountId: string): Expectation {
    const own = ofAccounts.get(`${model} ${accountId}`)
    const ofModel = ofModels.get(model)
    const ofAll = ofModel?.after(UNLEARNED) ?? UNLEARNED
    const { likely, usual } = own?.after(ofAll) ?? ofAll
    return {
      likely,
      usual,
      ownUsual: own?.usual() ?? 0,
      isOwn: own?.isEnough() === true,
      mean: own?.mean() ?? ofModel?.mean() ?? UNLEARNED.mean,
    }
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

type Answer = { readonly tokens: number; readonly isWhole: boolean }

function noteIn(known: LRUCache<string, Lengths>, name: string, { tokens, isWhole }: Answer): void {
  const lengths = known.get(name) ?? new Lengths()
  known.set(name, lengths)
  lengths.noteMean(tokens)
  if (isWhole) lengths.note(tokens)
}

type Lengthy = Pick<Expectation, 'likely' | 'usual'>

/** The lengths of the latest answers. The quantiles are computed when they are asked for. */
class Lengths {
  readonly #ring = new Uint32Array(REMEMBERED)
  #noted = 0
  #quantiles: Lengthy | null = null
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
    this.#quantiles = null
  }

  isEnough() {
    return this.#noted >= ENOUGH
  }

  usual(): number {
    return this.#known().usual
  }

  /** Returns what is expected after these answers, if `prior` was expected before them. */
  after(prior: Lengthy): Lengthy {
    if (this.#noted === 0) return prior
    const known = this.#known()
    if (this.isEnough()) return known
    return {
      likely: Math.max(known.likely, Math.ceil(prior.likely / this.#noted)),
      usual: Math.max(known.usual, Math.ceil(prior.usual / this.#noted)),
    }
  }

  #known(): Lengthy {
    if (this.#quantiles !== null) return this.#quantiles
    const sorted = this.#ring.slice(0, Math.min(this.#noted, REMEMBERED)).sort()
    const quantile = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0
    const long = quantile(LIKELY_QUANTILE)
    const margin = Math.ceil(long / Math.min(MARGIN, Math.max(1, this.#noted / ANSWERS_PER_SHARE)))
    this.#quantiles = { likely: Math.max(LEAST_TOKENS, long + margin), usual: quantile(USUAL_QUANTILE) }
    return this.#quantiles
  }
}
