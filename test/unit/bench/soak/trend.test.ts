import { describe, expect, it } from 'vitest'
import { toTrend } from '../../../../bench/soak/trend.ts'

describe('toTrend', () => {
  it('has the growth of a line, without noise', () => {
    const { median, growth, noise } = toTrend([1, 2, 3, 4, 5])
    expect({ median, growth }).toEqual({ median: 3, growth: 4 })
    expect(noise).toBeCloseTo(0)
  })

  it('has no growth where values only swing, and their swing as noise', () => {
    expect(toTrend([1, 5, 1, 5, 1, 5, 1, 5, 1])).toMatchObject({ growth: 0, median: 1 })
    expect(toTrend([1, 5, 1, 5, 1, 5, 1, 5, 1]).noise).toBeGreaterThan(3)
  })

  it('sees a slow rise under a swing', () => {
    const rising = Array.from({ length: 120 }, (_, index) => index * 0.1 + (index % 2))
    const { growth, noise } = toTrend(rising)
    expect(growth).toBeCloseTo(11.9, 0)
    expect(noise).toBeLessThan(growth / 5)
  })

  it('wants three samples', () => {
    expect(() => toTrend([1, 2])).toThrow('three samples')
  })
})
