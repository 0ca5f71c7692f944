import { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'

test('metrics that are counted are shown with their help, labels and buckets', async () => {
  const registry = new Registry()
  const { counter, gauge, histogram } = declareMetrics(registry)
  counter({ name: 'trains_total', help: 'Trains', labelNames: ['line'] }).inc({ line: 'red' }, 2)
  gauge({ name: 'passengers', help: 'Passengers' }).set(3)
  histogram({ name: 'delay_seconds', help: 'Delays', buckets: [1, 60] }).observe(30)
  expect(await scrape(registry)).toEqual([
    '# HELP trains_total Trains',
    '# TYPE trains_total counter',
    'trains_total{line="red"} 2',
    '# HELP passengers Passengers',
    '# TYPE passengers gauge',
    'passengers 3',
    '# HELP delay_seconds Delays',
    '# TYPE delay_seconds histogram',
    'delay_seconds_bucket{le="1"} 0',
    'delay_seconds_bucket{le="60"} 1',
    'delay_seconds_bucket{le="+Inf"} 1',
    'delay_seconds_sum 30',
    'delay_seconds_count 1',
  ])
})

test('values that are read replace those of the scrape before, and unknown ones are absent', async () => {
  const registry = new Registry()
  const { counter, gauge } = declareMetrics(registry)
  let trains: { line: string; passengers: number | null }[] = [
    { line: 'red', passengers: 4 },
    { line: 'red', passengers: 5 },
    { line: 'blue', passengers: 0 },
    { line: 'green', passengers: null },
  ]
  gauge({
    name: 'passengers',
    help: 'Passengers',
    labelNames: ['line'],
    read: async () => trains.map(({ line, passengers }) => [{ line }, passengers]),
  })
  counter({ name: 'trains_total', help: 'Trains', read: () => trains.length })
  expect(await scrapeValues(registry)).toEqual([
    'passengers{line="red"} 9',
    'passengers{line="blue"} 0',
    'trains_total 4',
  ])
  trains = [{ line: 'blue', passengers: 1 }]
  expect(await scrapeValues(registry)).toEqual(['passengers{line="blue"} 1', 'trains_total 1'])
})

test('a scrape fails when a value cannot be read', async () => {
  const registry = new Registry()
  const read = async () => await Promise.reject(new Error('no answer'))
  declareMetrics(registry).gauge({ name: 'passengers', help: 'Passengers', read })
  await expect(registry.metrics()).rejects.toThrow('no answer')
})

async function scrape(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line !== '')
}

async function scrapeValues(registry: Registry): Promise<string[]> {
  return (await scrape(registry)).filter((line) => !line.startsWith('#'))
}
