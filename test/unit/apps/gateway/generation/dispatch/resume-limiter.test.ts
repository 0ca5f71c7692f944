import { expect, test } from 'vitest'
import { createResumeLimiter } from '#apps/gateway/generation/dispatch/resume-limiter.ts'

const NEVER = new Promise<void>(() => {})

/** Enters the pace with each of these sizes. `went` lists the indices that may proceed, in order. */
function setUp(most: number, sizes: readonly number[]) {
  const pace = createResumeLimiter(most)
  const went: number[] = []
  const leave: (() => void)[] = []
  const leaving = sizes.map(() => Promise.withResolvers<void>())
  sizes.forEach((tokens, index) => {
    void pace('demo-chat', tokens, leaving[index]?.promise ?? NEVER).then((done) => {
      went.push(index)
      leave[index] = done
    })
  })
  const settled = async () => await new Promise((resolve) => setImmediate(resolve))
  return { pace, went, leave, settled, endWait: (index: number) => leaving[index]?.resolve() }
}

test('as many go at once as fit; the next goes when one has left', async () => {
  const { went, leave, settled } = setUp(100, [40, 40, 40, 40])
  await settled()
  expect(went).toEqual([0, 1])
  leave[0]?.()
  await settled()
  expect(went).toEqual([0, 1, 2])
})

test('one that is larger than the limit goes alone', async () => {
  const { went, leave, settled } = setUp(100, [10, 500, 10])
  await settled()
  expect(went).toEqual([0])
  leave[0]?.()
  await settled()
  expect(went).toEqual([0, 1])
  leave[1]?.()
  await settled()
  expect(went).toEqual([0, 1, 2])
})

test('a small one does not overtake a large one that waits', async () => {
  const { went, settled } = setUp(100, [80, 60, 5])
  await settled()
  expect(went).toEqual([0])
})

test('leaving twice gives back once, and models do not wait for each other', async () => {
  const { pace, went, leave, settled } = setUp(100, [60, 60, 60])
  await settled()
  leave[0]?.()
  leave[0]?.()
  await settled()
  expect(went).toEqual([0, 1])
  await expect(pace('another', 100, NEVER)).resolves.toBeTypeOf('function')
})

test('who is over leaves the queue without its turn, and the next one goes', async () => {
  const { went, leave, settled, endWait } = setUp(100, [80, 60, 20])
  await settled()
  expect(went).toEqual([0])
  endWait(1)
  await settled()
  expect(went).toEqual([0, 1, 2])
  leave[1]?.()
  leave[0]?.()
  leave[2]?.()
  await settled()
})
