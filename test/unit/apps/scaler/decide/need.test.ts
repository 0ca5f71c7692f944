import { describe, expect, test } from 'vitest'
import { computeNeed } from '#apps/scaler/decide/need.ts'
import { toLoad, toSpec } from './fixtures.ts'

const POOLS = [toSpec({ slots: 10, utilization: 0.8, targetWaitMs: 60_000, max: 50 })]

describe('busy', () => {
  test('a rate keeps rate × mean time slots busy, of which a replica gives its share', () => {
    const { raw, term, terms } = computeNeed(toLoad({ freshPerS: 2, meanServiceMs: 20_000 }), POOLS)
    expect({ raw, term, terms }).toEqual({ raw: 5, term: 'busy', terms: { busy: 5 } })
  })

  test('what runs counts where it is more than the rate foresees', () => {
    expect(computeNeed(toLoad({ freshPerS: 1, meanServiceMs: 1000, running: 24 }), POOLS).raw).toBe(3)
  })

  test('an unknown mean time leaves the rate out, and each waiting generation takes a slot', () => {
    expect(computeNeed(toLoad({ freshPerS: 50, running: 8, waiting: 16 }), POOLS).raw).toBe(3)
  })

  test('a queue of short generations needs only the slots that empty it within the target wait', () => {
    expect(computeNeed(toLoad({ waiting: 120, meanServiceMs: 20_000 }), POOLS).raw).toBe(5)
    expect(computeNeed(toLoad({ waiting: 120, meanServiceMs: 120_000 }), POOLS).raw).toBe(15)
  })

  test('the slots that workers report replace the configured ones, and none reported does not', () => {
    expect(computeNeed(toLoad({ running: 40, slotsPerReplica: 50 }), POOLS).raw).toBe(1)
    expect(computeNeed(toLoad({ running: 40, slotsPerReplica: 0 }), POOLS).raw).toBe(5)
  })

  test('the rounding of sums adds no replica', () => {
    const pools = [toSpec({ slots: 3, utilization: 0.7 })]
    // 2.1 / (3 × 0.7) is 1.0000000000000002 in floating point.
    expect(computeNeed(toLoad({ freshPerS: 2.1, meanServiceMs: 1000 }), pools).raw).toBe(1)
  })
})

describe('tokens', () => {
  test('offered output tokens need replicas by what a busy one decodes', () => {
    const load = toLoad({ freshPerS: 10, meanOutputTokens: 400, decodePerReplica: 1000, meanServiceMs: 100 })
    expect(computeNeed(load, POOLS)).toMatchObject({ raw: 5, term: 'decode', terms: { decode: 5 } })
  })

  test('waiting prompt tokens need replicas that prefill them within the target wait', () => {
    const load = toLoad({
      waiting: 1,
      waitingTokens: 1_200_000,
      prefillPerReplica: 10_000,
      meanServiceMs: 100,
    })
    expect(computeNeed(load, POOLS)).toMatchObject({ raw: 2, term: 'prefill', terms: { prefill: 2 } })
  })

  test('unknown throughput leaves its term out instead of counting as zero', () => {
    const load = toLoad({
      freshPerS: 10,
      meanOutputTokens: 400,
      waitingTokens: 1_000_000,
      meanServiceMs: 100,
    })
    expect(Object.keys(computeNeed(load, POOLS).terms)).toEqual(['busy'])
    const zeros = { ...load, decodePerReplica: 0, prefillPerReplica: 0 }
    expect(Object.keys(computeNeed(zeros, POOLS).terms)).toEqual(['busy'])
  })
})

describe('bounds', () => {
  test('nothing needs nothing', () => {
    expect(computeNeed(toLoad(), POOLS)).toMatchObject({ raw: 0, term: 'zero' })
  })

  test('one replica while a request was refused for want of a worker', () => {
    expect(computeNeed(toLoad({ unserved: true }), POOLS)).toMatchObject({ raw: 1, term: 'unserved' })
  })

  test('one replica for what waits, even where generations take no time', () => {
    expect(computeNeed(toLoad({ waiting: 3, meanServiceMs: 0 }), POOLS)).toMatchObject({
      raw: 1,
      term: 'unserved',
    })
  })

  test('at most the maxima of all pools together', () => {
    const pools = [toSpec({ pool: 'a', max: 3 }), toSpec({ pool: 'b', max: 4, order: 2 })]
    expect(computeNeed(toLoad({ running: 10_000 }), pools)).toMatchObject({ raw: 7, term: 'max' })
    expect(computeNeed(toLoad({ unserved: true }), [toSpec({ max: 0 })]).raw).toBe(0)
  })

  test('a model without a pool is an error', () => {
    expect(() => computeNeed(toLoad(), [])).toThrow(RangeError)
  })
})
