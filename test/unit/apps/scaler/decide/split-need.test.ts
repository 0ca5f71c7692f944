import { describe, expect, test } from 'vitest'
import { splitNeed, type SplitPool } from '#apps/scaler/decide/split-need.ts'
import { toPod, toPods, toSpec } from './fixtures.ts'

function toPool(fields: Partial<SplitPool> & { readonly spec: SplitPool['spec'] }): SplitPool {
  return { floor: fields.spec.min, target: 0, pods: [], released: new Set(), ...fields }
}

const BASE = toSpec({ pool: 'base', min: 1, max: 4, order: 1 })
const SPOT = toSpec({ pool: 'spot', min: 0, max: 20, order: 2, spot: true })

function split(raw: number, pools: readonly SplitPool[], isIdle = false) {
  return Object.fromEntries(splitNeed({ raw, isIdle, pools }))
}

describe('order', () => {
  test('pools fill by order, each up to its maximum', () => {
    const pools = [toPool({ spec: SPOT }), toPool({ spec: BASE })]
    expect(split(3, pools)).toEqual({ base: 3, spot: 0 })
    expect(split(9, pools)).toEqual({ base: 4, spot: 5 })
    expect(split(90, pools)).toEqual({ base: 4, spot: 20 })
  })

  test('the floor of a later pool takes from the share of the earlier', () => {
    const pools = [toPool({ spec: BASE }), toPool({ spec: SPOT, floor: 2 })]
    expect(split(3, pools)).toEqual({ base: 1, spot: 2 })
    expect(split(0, pools)).toEqual({ base: 1, spot: 2 })
  })

  test('a floor by time of day is bounded by the maximum', () => {
    expect(split(0, [toPool({ spec: BASE, floor: 9 })])).toEqual({ base: 4 })
  })
})

describe('zero', () => {
  const none = toSpec({ pool: 'none', min: 0, order: 1 })
  const other = toSpec({ pool: 'other', min: 0, order: 2 })

  test('one replica of a pool that has one stays until the model is idle', () => {
    const pools = [toPool({ spec: none }), toPool({ spec: other, target: 3 })]
    expect(split(0, pools)).toEqual({ none: 0, other: 1 })
    expect(split(0, pools, true)).toEqual({ none: 0, other: 0 })
  })

  test('a model at zero is not woken by not being idle yet', () => {
    expect(split(0, [toPool({ spec: none })])).toEqual({ none: 0 })
  })
})

describe('replacements', () => {
  test('sick pods are replaced up to a quarter of the pool, and one always', () => {
    const sick = (count: number) => toPods(count).map((pod) => ({ ...pod, phase: 'sick' as const }))
    const spec = toSpec({ pool: 'big' })
    expect(split(8, [toPool({ spec, target: 8, pods: sick(5) })])).toEqual({ big: 10 })
    expect(split(2, [toPool({ spec, target: 2, pods: sick(2) })])).toEqual({ big: 3 })
    expect(split(2, [toPool({ spec: { ...spec, max: 2 }, target: 2, pods: sick(2) })])).toEqual({ big: 2 })
  })

  test('a pool without a share replaces nothing', () => {
    const pods = [toPod('a', { phase: 'sick' })]
    expect(split(0, [toPool({ spec: toSpec(), target: 1, pods })], true)).toEqual({ pool: 0 })
  })

  test('a pod that an operator cordoned is replaced, one that the scaler cordoned is not', () => {
    const pods = [
      toPod('a', { phase: 'cordoned', operatorCordoned: true }),
      toPod('b', { phase: 'cordoned' }),
    ]
    expect(split(2, [toPool({ spec: toSpec(), target: 2, pods })])).toEqual({ pool: 3 })
  })
})

describe('spot', () => {
  const spotFirst = { ...SPOT, order: 0 }
  const pools = (pod: Parameters<typeof toPod>[1], released = new Set<string>()) => [
    toPool({ spec: spotFirst, target: 2, pods: [toPod('a', pod), toPod('b')], released }),
    toPool({ spec: BASE }),
  ]

  test('a pod that is about to be taken away is replaced in its pool and in the next one at once', () => {
    expect(split(3, pools({ disrupted: true }))).toEqual({ spot: 3, base: 2 })
  })

  test('a pod that is being deleted counts as lost, unless the scaler released it', () => {
    expect(split(3, pools({ phase: 'deleting' }))).toEqual({ spot: 2, base: 2 })
    expect(split(3, pools({ phase: 'deleting' }, new Set(['a'])))).toEqual({ spot: 2, base: 1 })
  })

  test('the share of a pod that has been unscheduled for 60 s moves to the next pool', () => {
    expect(split(3, pools({ phase: 'unscheduled', sincePhaseMs: 59_999 }))).toEqual({ spot: 2, base: 1 })
    expect(split(3, pools({ phase: 'unscheduled', sincePhaseMs: 60_000 }))).toEqual({ spot: 2, base: 2 })
  })

  test('a pool that is not spot loses nothing by a deletion: Kubernetes replaces the pod', () => {
    const both = pools({ phase: 'deleting' }).map((pool) => ({
      ...pool,
      spec: { ...pool.spec, spot: false },
    }))
    expect(split(3, both)).toEqual({ spot: 2, base: 1 })
  })
})
