import { Histogram, Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { boundModelLabel, GEN_AI } from '#libs/telemetry/gen-ai-names.ts'

const ENTRIES = Object.values(GEN_AI)

test('every entry registers as a histogram with rising boundaries and labels of the conventions', () => {
  const registry = new Registry()
  for (const entry of ENTRIES) {
    new Histogram({
      ...entry,
      labelNames: [...entry.labelNames],
      buckets: [...entry.buckets],
      registers: [registry],
    })
    expect(entry.buckets).toEqual(entry.buckets.toSorted((a, b) => a - b))
    expect(new Set(entry.buckets).size).toBe(entry.buckets.length)
    expect(entry.labelNames).toEqual(
      expect.arrayContaining(['gen_ai_operation_name', 'gen_ai_request_model']),
    )
  }
  expect(registry.getMetricsAsArray()).toHaveLength(ENTRIES.length)
})

test('the objectives of 2 s and 80 ms are boundaries, so that alerts measure them exactly', () => {
  expect(GEN_AI.timeToFirstToken.buckets).toContain(2)
  expect(GEN_AI.timePerOutputToken.buckets).toContain(0.08)
})

test('a model keeps its label, and models beyond the bound share one', () => {
  const toLabel = boundModelLabel(2)
  expect(['a', 'b', 'c', 'a', 'd', 'b'].map(toLabel)).toEqual(['a', 'b', 'other', 'a', 'other', 'b'])
})

test('without an argument a hundred models have labels of their own', () => {
  const toLabel = boundModelLabel()
  const labels = Array.from({ length: 150 }, (_, n) => toLabel(`model-${n}`))
  expect(new Set(labels).size).toBe(101)
  expect(labels.slice(100)).toEqual(Array(50).fill('other'))
})
