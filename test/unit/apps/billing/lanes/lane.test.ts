import { expect, test } from 'vitest'
import { createLane, LaneOverloaded } from '#apps/billing/lanes/lane.ts'

type Batch = { calls: readonly string[]; answer: () => void; fail: (error: Error) => void }

/** A lane whose batches the test answers; the answer to a call is the call itself in capitals. */
function createTestLane(options: { maxBatch?: number; maxWaiting?: number } = {}) {
  const batches: Batch[] = []
  const lane = createLane<string, string>({
    run(calls) {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>()
      batches.push({ calls, answer: () => resolve(calls.map((call) => call.toUpperCase())), fail: reject })
      return promise
    },
    // 'r1' and 'r2' are of one kind, 's1' is of another.
    sameBatch: (first, next) => first[0] === next[0],
    maxBatch: options.maxBatch ?? 10,
    maxWaiting: options.maxWaiting ?? 100,
  })
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  const batch = async (index: number) => {
    await turn()
    const found = batches[index]
    if (!found) throw new Error(`there is no batch ${index}`)
    return found
  }
  return { lane, batches, batch, turn }
}

test('calls of one turn ride together, and each gets its own answer', async () => {
  const { lane, batch } = createTestLane()
  const answers = Promise.all(['r1', 'r2', 'r3'].map(lane.submit))
  const first = await batch(0)
  expect(first.calls).toEqual(['r1', 'r2', 'r3'])
  first.answer()
  expect(await answers).toEqual(['R1', 'R2', 'R3'])
})

test('one batch is in flight, and what arrives meanwhile forms the next', async () => {
  const { lane, batch, batches, turn } = createTestLane()
  const first = lane.submit('r1')
  await turn()
  const later = Promise.all([lane.submit('r2'), lane.submit('r3')])
  await turn()
  expect(batches).toHaveLength(1)
  expect(lane.waiting()).toBe(2)
  batches[0]?.answer()
  expect(await first).toBe('R1')
  const second = await batch(1)
  expect(second.calls).toEqual(['r2', 'r3'])
  second.answer()
  expect(await later).toEqual(['R2', 'R3'])
})

test('a batch has at most its limit', async () => {
  const { lane, batch } = createTestLane({ maxBatch: 2 })
  const answers = Promise.all(['r1', 'r2', 'r3'].map(lane.submit))
  const first = await batch(0)
  expect(first.calls).toEqual(['r1', 'r2'])
  first.answer()
  const second = await batch(1)
  expect(second.calls).toEqual(['r3'])
  second.answer()
  expect(await answers).toHaveLength(3)
})

test('the order of arrival holds across kinds that cannot share a batch', async () => {
  const { lane, batch } = createTestLane()
  const answers = Promise.all(['r1', 'r2', 's1', 'r3'].map(lane.submit))
  for (const [index, calls] of [['r1', 'r2'], ['s1'], ['r3']].entries()) {
    const next = await batch(index)
    expect(next.calls).toEqual(calls)
    next.answer()
  }
  expect(await answers).toEqual(['R1', 'R2', 'S1', 'R3'])
})

test('a failing batch fails its calls and no others', async () => {
  const { lane, batch } = createTestLane({ maxBatch: 1 })
  const outcomes = Promise.allSettled(['r1', 'r2'].map(lane.submit))
  const failing = await batch(0)
  failing.fail(new Error('database gone'))
  const next = await batch(1)
  next.answer()
  expect(await outcomes).toMatchObject([{ status: 'rejected' }, { status: 'fulfilled', value: 'R2' }])
})

test('refuses beyond its backlog, and takes calls again when there is room', async () => {
  const { lane, batch, turn } = createTestLane({ maxWaiting: 2 })
  const first = lane.submit('r1')
  await turn()
  const waiting = [lane.submit('r2'), lane.submit('r3')]
  await expect(lane.submit('r4')).rejects.toBeInstanceOf(LaneOverloaded)
  const running = await batch(0)
  running.answer()
  await first
  await turn()
  waiting.push(lane.submit('r5'))
  for (const index of [1, 2]) {
    const next = await batch(index)
    next.answer()
  }
  expect(await Promise.all(waiting)).toEqual(['R2', 'R3', 'R5'])
})
