import { expect, test } from 'vitest'
import { createRoundReader } from '#apps/billing/settlements/read-round.ts'

/** Sets up streams in memory. `backlog` has the number of unread entries of each model. */
function setUp(backlog: Record<string, number>) {
  const left = new Map(Object.entries(backlog))
  const replies: number[] = []
  const clock = { nowMs: 0 }
  const own = new Map<string, number>()
  function take(from: Map<string, number>, model: string, count: number) {
    const taken = Math.min(count, from.get(model) ?? 0)
    from.set(model, (from.get(model) ?? 0) - taken)
    return Array.from({ length: taken }, (_, index) => ({ model, id: `${index}-0`, fields: [] }))
  }
  const reader = createRoundReader({
    streams: {
      async readNew(models, count) {
        const entries = models.flatMap((model) => take(left, model, count))
        replies.push(entries.length)
        return { entries, failures: [] }
      },
      readOwn: async (model, count) => take(own, model, count),
      claim: async (model, { count }) => ({ entries: take(own, model, count), next: null }),
    },
    claimIdleMs: 0,
    monotonicMs: () => clock.nowMs,
  })
  return { reader, left, own, clock, replies, models: [...left.keys()] }
}

const many = (count: number, backlog: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, backlog]))

test('a round after an outage is bounded, however many models have a backlog', async () => {
  const { reader, models, replies } = setUp(many(1_000, 5_000))
  const { entries, isAll } = await reader.read(models)
  expect(entries.length).toBeGreaterThan(500)
  expect(entries.length).toBeLessThanOrEqual(1_024)
  expect(Math.max(...replies)).toBeLessThanOrEqual(1_024)
  expect(isAll).toBe(false)
})

test('with a backlog everywhere each model has its turn before any has a second one', async () => {
  const { reader, models } = setUp(many(1_000, 5_000))
  const seen: string[] = []
  while (new Set(seen).size < 1_000) {
    const { entries } = await reader.read(models)
    seen.push(...new Set(entries.map(({ model }) => model)))
  }
  expect(seen.length - 1_000).toBeLessThan(128)
})

test('one model with a backlog gets the rest of the round, and does not keep another one waiting', async () => {
  const { reader, models } = setUp({ busy: 5_000, ...many(300, 0), calm: 3 })
  const { entries, isAll } = await reader.read(models)
  expect(entries.filter(({ model }) => model === 'calm')).toHaveLength(3)
  expect(entries.filter(({ model }) => model === 'busy').length).toBeGreaterThan(900)
  expect(entries.length).toBeLessThanOrEqual(1_024)
  expect(isAll).toBe(true)
})

test('a thousand idle streams take sixteen commands', async () => {
  const { reader, models, replies } = setUp(many(1_000, 0))
  expect(await reader.read(models)).toEqual({ entries: [], failures: [], isAll: true })
  expect(replies).toHaveLength(16)
})

test('of a model that failed the entries that were received already come first, after a pause', async () => {
  const { reader, own, clock } = setUp({ broken: 2 })
  own.set('broken', 40)
  reader.failed('broken')
  expect((await reader.read(['broken'])).entries).toEqual([])
  clock.nowMs = 100
  expect((await reader.read(['broken'])).entries).toHaveLength(32)
  expect((await reader.read(['broken'])).entries).toHaveLength(8)
  expect((await reader.read(['broken'])).entries).toHaveLength(2)
})

test('while a batch is gathered, what this consumer holds already is not read twice', async () => {
  const { reader, own, clock } = setUp({ broken: 2, calm: 1 })
  own.set('broken', 40)
  reader.failed('broken')
  clock.nowMs = 100
  await reader.read(['broken'])
  expect((await reader.readMore(['broken', 'calm'])).entries.map(({ model }) => model)).toEqual(['calm'])
})
