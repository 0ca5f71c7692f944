import type { TimeBuckets } from '#libs/event-bus/time-buckets.ts'
import { createRate, createRecentTimes, type Rate, type RecentTimes } from './rates.ts'

const RATES = ['asked', 'settled', 'failed', 'prompt', 'cached', 'completion'] as const
type RateName = (typeof RATES)[number]

/** The counters of one model, or of the cluster, summed over all processes. */
export type ModelLoad = {
  add(name: RateName, amount: number): void
  refuse(code: string, amount: number): void
  addTimes(name: 'queue' | 'firstToken', counts: TimeBuckets): void
  perS(name: RateName, windowMs: number): number
  refusedPerS(windowMs: number): Record<string, number>
  quantiles(name: 'queue' | 'firstToken'): ReturnType<RecentTimes['quantiles']>
}

/** Creates a load. Amounts added to it are also added to `whole`. */
export function createModelLoad(nowMs: () => number, whole: ModelLoad | null): ModelLoad {
  const rates = new Map<RateName, Rate>(RATES.map((name) => [name, createRate(nowMs)]))
  const refusals = new Map<string, Rate>()
  const times = { queue: createRecentTimes(nowMs), firstToken: createRecentTimes(nowMs) }

  const add = (name: RateName, amount: number) => {
    if (amount <= 0) return
    rates.get(name)?.add(amount)
    whole?.add(name, amount)
  }

  return {
    add,
    refuse(code, amount) {
      if (amount <= 0) return
      const rate = refusals.get(code) ?? createRate(nowMs)
      refusals.set(code, rate)
      rate.add(amount)
      whole?.refuse(code, amount)
    },
    addTimes(name, counts) {
      times[name].add(counts)
      whole?.addTimes(name, counts)
    },
    perS: (name, windowMs) => rates.get(name)?.perS(nowMs(), windowMs) ?? 0,
    refusedPerS(windowMs) {
      const present = Array.from(refusals, ([code, rate]) => [code, rate.perS(nowMs(), windowMs)] as const)
      return Object.fromEntries(present.filter(([, perS]) => perS > 0))
    },
    quantiles: (name) => times[name].quantiles(nowMs()),
  }
}
