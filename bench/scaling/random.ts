/** Seeded randomness: the same seed gives the same numbers. */
export type Random = {
  /** Returns a number from 0 up to, but not including, 1. */
  uniform(): number
  /** Returns a random number of independent events, of which `mean` happen on average. */
  poisson(mean: number): number
  /**
   * Returns a random number from a lognormal distribution with this mean. `spread` is the standard deviation of the
   * number's logarithm.
   */
  lognormal(mean: number, spread: number): number
}

/**
 * Above this mean, counts are drawn from a normal distribution, which is close enough to the Poisson distribution and
 * far cheaper.
 */
const LARGE_MEAN = 50

export function createRandom(seed: number): Random {
  let state = seed >>> 0

  /** The algorithm is mulberry32. */
  function uniform(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  function normal(): number {
    return Math.sqrt(-2 * Math.log(uniform() + 1e-12)) * Math.cos(2 * Math.PI * uniform())
  }

  function poisson(mean: number): number {
    if (mean <= 0) return 0
    if (mean > LARGE_MEAN) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()))
    const limit = Math.exp(-mean)
    let count = 0
    for (let product = uniform(); product > limit; product *= uniform()) count += 1
    return count
  }

  return {
    uniform,
    poisson,
    lognormal: (mean, spread) => mean * Math.exp(spread * normal() - (spread * spread) / 2),
  }
}
