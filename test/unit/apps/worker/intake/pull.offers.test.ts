import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { setUp } from './pull-under-test.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const offer = (id: string, forMs = 500) => ({ model: 'demo-chat', id, epoch: 1, tag: 7, forMs })

test('an offered generation is claimed at once if there is room, and its delayed job is removed', async () => {
  const { pull, state, slots, offered, removed, pass } = setUp(1)
  state.waiting = 1
  pull.offer(offer('a'))
  await pass(0)
  expect([offered, removed, slots.running(), state.taken]).toEqual([['a'], ['a.1'], 1, 0])
})

test('an offer to a full worker is claimed when a slot becomes free, and not after its time', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 3
  await job()
  for (const [id, forMs] of [
    ['short', 100],
    ['long', 1_000],
  ] as const)
    pull.offer(offer(id, forMs))
  await pass(200)
  expect(offered).toEqual([])
  ends[0]?.()
  await pass(0)
  expect(offered).toEqual(['long'])
})

test('an offer that has passed frees its slot and removes no job', async () => {
  const { pull, slots, offered, removed, pass } = setUp(1)
  pull.offer(offer('gone'))
  await pass(0)
  expect([offered, removed, slots.running()]).toEqual([['gone'], [], 0])
})

test('while others wait, one of them is claimed after four offers in a row', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 20
  await job()
  for (let count = 0; count < 8; count += 1) pull.offer(offer(`offer-${count}`))
  const byOffer: boolean[] = []
  for (let count = 0; count < 6; count += 1) {
    const before = offered.length
    ends.at(-1)?.()
    await pass(0)
    byOffer.push(offered.length > before)
  }
  expect(byOffer).toEqual([true, true, true, true, false, true])
})

test('an offer that may not be claimed yet leaves the slot to another generation, and is tried again', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 3
  state.later.add('a')
  await job()
  pull.offer(offer('a'))
  ends.at(-1)?.()
  await pass(0)
  expect([offered, state.waiting]).toEqual([['a'], 1])
  state.later.clear()
  ends.at(-1)?.()
  await pass(0)
  expect([offered, state.waiting]).toEqual([['a', 'a'], 0])
})

test('an offer that may not be claimed yet is tried again at once if the worker has another free slot', async () => {
  const { pull, state, slots, offered, pass } = setUp(2)
  state.waiting = 2
  state.later.add('a')
  state.onFair = () => state.later.delete('a')
  pull.offer(offer('a'))
  await pass(0)
  expect([offered, slots.running(), state.waiting]).toEqual([['a', 'a'], 2, 0])
})

test('when a claim after four offers in a row gets nothing, the next offer is claimed instead', async () => {
  const { pull, state, ends, offered, job, pass } = setUp(1)
  state.waiting = 20
  await job()
  state.onFair = () => false
  for (let count = 0; count < 5; count += 1) pull.offer(offer(`offer-${count}`))
  for (let count = 0; count < 5; count += 1) {
    ends.at(-1)?.()
    await pass(0)
  }
  expect(offered).toHaveLength(5)
})

test('a worker that may not pull claims no offer', async () => {
  const { pull, state, offered, pass } = setUp(1)
  state.ready = false
  state.waiting = 1
  pull.offer(offer('a'))
  await pass(0)
  expect(offered).toEqual([])
})
