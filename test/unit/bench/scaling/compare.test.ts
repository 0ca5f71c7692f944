import { beforeAll, describe, expect, test } from 'vitest'
import { runs } from '#test/support/long.ts'
import { compare, type Comparison } from '../../../../bench/scaling/compare.ts'

// The load is random. With eight seeds, the means of the trace with bursts are stable. A seed gives the same numbers
// each time, so two seeds are enough to notice a change of the rules.
const SEEDS = runs(2, 8)

/** The most requests whose clients may give up, in percent, by trace. */
const MOST_GAVE_UP: Readonly<Record<string, number>> = {
  'step 3→24→48': 3,
  'sine 4–36': 0.2,
  'bursts 4→40, 45 s': 3,
  'nights at zero': 1.2,
  'S 20→60 s': 1.2,
}

describe('against the rules of two peers, on five traces', () => {
  let results: readonly Comparison[] = []

  beforeAll(() => {
    results = compare(SEEDS)
  }, 1_800_000)

  function of(trace: string, rule: string): Comparison {
    const found = results.find((result) => result.trace === trace && result.rule === rule)
    if (found === undefined) throw new Error(`no result of ${rule} on ${trace}`)
    return found
  }

  describe.each(Object.keys(MOST_GAVE_UP))('%s', (trace) => {
    test('few clients give up', () => {
      expect(of(trace, 'millrace').mean.gaveUp).toBeLessThanOrEqual(MOST_GAVE_UP[trace] ?? 0)
    })

    test('at most 0.65 of the GPU-hours of the one and 0.85 of the other', () => {
      const { gpuHours } = of(trace, 'millrace').mean
      expect(gpuHours).toBeLessThanOrEqual(0.65 * of(trace, 'llm-d').mean.gpuHours)
      expect(gpuHours).toBeLessThanOrEqual(0.85 * of(trace, 'queue ÷ 5').mean.gpuHours)
    })

    test('at most half of the starts of each', () => {
      const { starts } = of(trace, 'millrace').mean
      expect(starts).toBeLessThanOrEqual(0.5 * of(trace, 'llm-d').mean.starts)
      expect(starts).toBeLessThanOrEqual(0.5 * of(trace, 'queue ÷ 5').mean.starts)
    })

    test('pods are removed, none of them busy, where the peers remove busy ones', () => {
      const { removed, removedBusy } = of(trace, 'millrace').mean
      expect(removed).toBeGreaterThan(0)
      expect(removedBusy).toBe(0)
      expect(of(trace, 'llm-d').mean.removedBusy).toBeGreaterThan(0)
    })
  })

  test('a step to sixteen times the load does not overshoot', () => {
    expect(of('step 3→24→48', 'millrace').worstPeak).toBeLessThanOrEqual(70)
  })
})
