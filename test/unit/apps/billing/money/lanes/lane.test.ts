import { expect, test } from 'vitest'
import { createLane, LaneOverloaded, type Parallel } from '#apps/billing/money/lanes/lane.ts'

type Batch = { calls: readonly string[]; answer: () => void; fail: (error: Error) => void }

/**
 * Creates a lane. The test answers its batches and sets its clock. The answer to a call is the call itself in capitals.
 */
function createTestLane(
  options: {
    maxBatch?: number
    maxWaiting?: number
    maxWaitMs?: number
    stuckMs?: number
    parallel?: Parallel<string>
  } = {},
) {
  const batches: Batch[] = []
  const clock = { ms: 0 }
  const lane = createLane<string, string>({
    run(calls) {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>()
      batches.push({ calls, answer: () => resolve(calls.map((call) => call.toUpperCase())), fail: reject })
      return promise
    },
    // 'r1' and 'r2' are calls of the same kind, 's1' is of another kind. 'r1' and 's1' have the same subject.
    kindOf: (call) => call.slice(0, 1),
    subjectOf: (call) => /\d+/.exec(call)?.[0] ?? '',
    ...(options.parallel && { parallel: options.parallel }),
    maxBatch: options.maxBatch ?? 10,
    maxWaiting: options.maxWaiting ?? 100,
    maxWaitMs: options.maxWaitMs ?? 50,
    stuckMs: options.stuckMs ?? 500,
    monotonicMs: () => clock.ms,
  })
  /** Waits until a batch may start: in the turn after its calls arrived and the previous batch ended. */
  const turn = async () => {
    for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  const batch = async (index: number) => {
    await turn()
    const found = batches[index]
    if (!found) throw new Error(`there is no batch ${index}`)
    return found
  }
  /** The next batch is answered after so long. */
  let answered = 0
  const answerAfter = async (ms: number) => {
    const next = await batch(answered)
    answered += 1
    clock.ms += ms
    next.answer()
    await turn()
  }
  return { lane, batches, batch, turn, clock, answerAfter }
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

test('calls of one kind ride together although calls of another kind arrived between', async () => {
  const { lane, batch } = createTestLane()
  const answers = Promise.all(['r1', 's2', 'r3', 's4'].map(lane.submit))
  for (const [index, calls] of [
    ['r1', 'r3'],
    ['s2', 's4'],
  ].entries()) {
    const next = await batch(index)
    expect(next.calls).toEqual(calls)
    next.answer()
  }
  expect(await answers).toEqual(['R1', 'S2', 'R3', 'S4'])
})

test('calls about one subject run in order of arrival', async () => {
  const { lane, batch } = createTestLane()
  const answers = Promise.all(['r1', 's1', 'r1', 'r2'].map(lane.submit))
  for (const [index, calls] of [['r1', 'r2'], ['s1'], ['r1']].entries()) {
    const next = await batch(index)
    expect(next.calls).toEqual(calls)
    next.answer()
  }
  expect(await answers).toEqual(['R1', 'S1', 'R1', 'R2'])
})

test('repeated calls about one subject are in different batches', async () => {
  const { lane, batch } = createTestLane()
  const answers = Promise.all(['r1', 'r1', 'r2'].map(lane.submit))
  const first = await batch(0)
  expect(first.calls).toEqual(['r1', 'r2'])
  first.answer()
  const second = await batch(1)
  expect(second.calls).toEqual(['r1'])
  second.answer()
  expect(await answers).toEqual(['R1', 'R1', 'R2'])
})

test('what a full batch has no room for stays in order of arrival', async () => {
  const { lane, batch } = createTestLane({ maxBatch: 1 })
  const answers = Promise.all(['r1', 's2', 'r3'].map(lane.submit))
  for (const [index, calls] of [['r1'], ['s2'], ['r3']].entries()) {
    const next = await batch(index)
    expect(next.calls).toEqual(calls)
    next.answer()
  }
  expect(await answers).toEqual(['R1', 'S2', 'R3'])
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

test('refuses while a batch is stuck, from when the oldest call has waited too long', async () => {
  const { lane, turn, clock, answerAfter } = createTestLane({ maxWaitMs: 10, stuckMs: 50 })
  const answers = [lane.submit('r1')]
  await answerAfter(1)
  answers.push(lane.submit('r2'))
  await turn()
  clock.ms += 1_000
  // No call waits behind the stuck batch yet.
  answers.push(lane.submit('r3'))
  clock.ms += 50
  answers.push(lane.submit('r4'))
  clock.ms += 1
  await expect(lane.submit('r5')).rejects.toBeInstanceOf(LaneOverloaded)
  await answerAfter(1)
  answers.push(lane.submit('r6'))
  await answerAfter(1)
  await answerAfter(1)
  expect(await Promise.all(answers)).toEqual(['R1', 'R2', 'R3', 'R4', 'R6'])
})

test('the first batch of all may take its time', async () => {
  const { lane, turn, clock, answerAfter } = createTestLane({ maxWaitMs: 50 })
  const answers = [lane.submit('r1')]
  await turn()
  for (const call of ['r2', 'r3']) {
    clock.ms += 500
    answers.push(lane.submit(call))
  }
  await answerAfter(500)
  await answerAfter(1)
  expect(await Promise.all(answers)).toEqual(['R1', 'R2', 'R3'])
})

test('refuses when the full batches that wait would take too long', async () => {
  const { lane, turn, answerAfter } = createTestLane({ maxBatch: 2, maxWaitMs: 50 })
  const answers = [lane.submit('r1')]
  await answerAfter(20)
  answers.push(lane.submit('r2'))
  await turn()
  // Two full batches take 40 ms. Behind three batches, a call would wait for 60 ms.
  for (const call of ['r3', 'r4', 'r5', 'r6', 'r7', 'r8']) answers.push(lane.submit(call))
  await expect(lane.submit('r9')).rejects.toBeInstanceOf(LaneOverloaded)
  await answerAfter(16)
  // A batch now takes 16 ms, and two batches wait.
  answers.push(lane.submit('r10'))
  for (let batches = 0; batches < 4; batches += 1) await answerAfter(1)
  expect(await Promise.all(answers)).toHaveLength(9)
})

test('a slow batch refuses nothing that the next one has room for, and nothing once that was fast', async () => {
  const { lane, turn, clock, answerAfter } = createTestLane({ maxBatch: 2, maxWaitMs: 50 })
  const answers = [lane.submit('r1')]
  await answerAfter(5_000)
  clock.ms += 3_600_000
  answers.push(lane.submit('r2'))
  await turn()
  answers.push(lane.submit('r3'), lane.submit('r4'))
  await answerAfter(1)
  answers.push(lane.submit('r5'), lane.submit('r6'), lane.submit('r7'))
  for (let batches = 0; batches < 3; batches += 1) await answerAfter(1)
  expect(await Promise.all(answers)).toEqual(['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7'])
})

// 'r1a' locks 'a'; the lock of 'r1' is unknown.
const TWO = { lockOf: (call: string) => /[a-z]$/.exec(call)?.[0] ?? null, maxBatches: 2, minCalls: 2 }

test('where two batches may be in flight, each takes its share of all calls', async () => {
  const { lane, batches, turn } = createTestLane({ parallel: TWO })
  const answers = ['r1a', 'r2b', 'r3', 'r4c', 'r5', 'r6d'].map(lane.submit)
  await turn()
  answers.push(...['r7', 'r8e', 'r9f', 'r10g'].map(lane.submit))
  await turn()
  expect(batches).toHaveLength(2)
  for (const index of [1, 0, 2]) {
    batches[index]?.answer()
    await turn()
  }
  answers.push(...['r11', 'r12', 'r13', 'r14'].map(lane.submit))
  await turn()
  expect(batches.map(({ calls }) => calls)).toEqual([
    ['r1a', 'r2b', 'r3'],
    ['r4c', 'r5', 'r6d'],
    ['r7', 'r8e', 'r9f', 'r10g'],
    ['r11', 'r12'],
    ['r13', 'r14'],
  ])
  for (const { answer } of batches.slice(3)) answer()
  expect(await Promise.all(answers)).toHaveLength(14)
})

test('few calls are not shared out, and fewer than its fewest make no batch beside another one', async () => {
  const { lane, batch, batches, turn } = createTestLane({ parallel: TWO })
  const answers = ['r1a', 'r2b', 'r3c'].map(lane.submit)
  const first = await batch(0)
  expect(first.calls).toEqual(['r1a', 'r2b', 'r3c'])
  answers.push(lane.submit('r4d'))
  await turn()
  expect(batches).toHaveLength(1)
  answers.push(lane.submit('r5e'))
  const second = await batch(1)
  expect(second.calls).toEqual(['r4d', 'r5e'])
  first.answer()
  second.answer()
  answers.push(lane.submit('r6f'))
  const third = await batch(2)
  expect(third.calls).toEqual(['r6f'])
  third.answer()
  expect(await Promise.all(answers)).toHaveLength(6)
})

test('no two batches in flight have a lock in common: all its calls ride together, in order', async () => {
  const { lane, batch, batches, turn } = createTestLane({ parallel: TWO })
  const answers = ['r1a', 'r2b', 'r3a', 'r4c', 'r5a', 'r6d'].map(lane.submit)
  const first = await batch(0)
  expect(first.calls).toEqual(['r1a', 'r2b', 'r3a', 'r5a'])
  const second = await batch(1)
  expect(second.calls).toEqual(['r4c', 'r6d'])
  answers.push(...['r7a', 'r8b', 'r9c'].map(lane.submit))
  second.answer()
  await turn()
  // Only 'r9c' could run beside the first.
  expect(batches).toHaveLength(2)
  first.answer()
  const third = await batch(2)
  expect(third.calls).toEqual(['r7a', 'r8b', 'r9c'])
  third.answer()
  expect(await Promise.all(answers)).toHaveLength(9)
})

test('calls about one subject never run beside each other, and none of its lock overtakes them', async () => {
  const { lane, batch, batches, turn } = createTestLane({ parallel: TWO })
  const answers = ['r1', 'r2'].map(lane.submit)
  const first = await batch(0)
  answers.push(...['s1', 'r1a', 'r3a', 'r4b', 'r5b'].map(lane.submit))
  const second = await batch(1)
  expect(second.calls).toEqual(['r4b', 'r5b'])
  second.answer()
  await turn()
  expect(batches).toHaveLength(2)
  first.answer()
  for (const [index, calls] of [['s1'], ['r1a', 'r3a']].entries()) {
    const next = await batch(2 + index)
    expect(next.calls).toEqual(calls)
    next.answer()
  }
  expect(await Promise.all(answers)).toHaveLength(7)
})
