import type { SimulatedAccount } from '../../test/support/simulate-queue.ts'

/** A client sends the same request this many times at most. The client libraries of OpenAI send it three times. */
export const MOST_TRIES = 4

/** The engines of a model: their slots, the time for a token of output, and the mean sizes of the requests. */
export type Engines = {
  readonly name: string
  readonly slots: number
  readonly stepMs: number
  readonly prompt: number
  readonly output: number
  /** The least share of right refusals. */
  readonly bar: number
}

/**
 * Answers take 2 s in the first engines and 20 s in the second engines, on average. The queue of the second engines is
 * 24 requests long, and the next answer may end after seconds or after minutes. So the wait of one of several accounts
 * depends more on chance, and the bar is lower. Both bars are set for a heavy account beside light accounts at three
 * times the load.
 */
export const ENGINES: readonly Engines[] = [
  { name: 'short answers', slots: 8, stepMs: 10, prompt: 600, output: 200, bar: 0.65 },
  { name: 'long answers', slots: 16, stepMs: 20, prompt: 2_000, output: 1_000, bar: 0.6 },
]

/** Groups of accounts: the number of accounts in a group, the weight of each, and the group's share of all requests. */
export type Mix = {
  readonly name: string
  readonly groups: readonly { readonly count: number; readonly weight: number; readonly share: number }[]
}

export const MIXES: readonly Mix[] = [
  { name: 'one account', groups: [{ count: 1, weight: 1, share: 1 }] },
  { name: 'five equal accounts', groups: [{ count: 5, weight: 1, share: 1 }] },
  {
    name: 'a heavy and ten light accounts',
    groups: [
      { count: 1, weight: 1, share: 0.7 },
      { count: 10, weight: 1, share: 0.3 },
    ],
  },
  {
    name: 'weight 3 beside two of weight 1',
    groups: [
      { count: 1, weight: 3, share: 0.5 },
      { count: 2, weight: 1, share: 0.5 },
    ],
  },
]

/** The requests that arrive, as a multiple of the requests that the engines can answer. */
export const LOADS = [1.2, 1.5, 3] as const

/** The standard deviation of the logarithm of prompt and output. The longest of 1,000 answers is 15 times their mean. */
const SPREAD = 1

/** Returns the accounts whose requests arrive at `load` times the rate that the engines can serve. */
export function toAccounts({ engines, mix, load }: { engines: Engines; mix: Mix; load: number }) {
  const { slots, stepMs, prompt, output } = engines
  const servedPerS = (slots * 1_000) / (output * stepMs)
  return mix.groups.flatMap(({ count, weight, share }, group) =>
    Array.from({ length: count }, (_, at): SimulatedAccount => ({
      id: `account-${group}-${at}`,
      weight,
      clients: 0,
      fromMs: 0,
      requests: 1,
      repeats: true,
      tries: MOST_TRIES,
      arrivalsPerS: (load * servedPerS * share) / count,
      size: (random) => ({ prompt: lognormal(prompt, random), output: lognormal(output, random) }),
    })),
  )
}

function lognormal(mean: number, random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Math.max(1, Math.round(mean * Math.exp(SPREAD * normal - (SPREAD * SPREAD) / 2)))
}
