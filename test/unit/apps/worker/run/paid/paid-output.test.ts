import { assert, array, constant, integer, oneof, property, record } from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPaidOutput, type PassOn } from '#apps/worker/run/paid/paid-output.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at)

function open(fields: { written?: number; paidTokens: number; mostTokens?: number; choices?: number }) {
  const passed: number[] = []
  const asked: number[] = []
  const output = createPaidOutput({
    written: 0,
    mostTokens: 10_000,
    choices: 1,
    ask: (moreTokens) => asked.push(moreTokens),
    ...fields,
  })
  const passOn: PassOn = (ids) => passed.push(...ids) && ids.length
  const paid = { ...output, isOver: () => output.isCut(passOn) }
  return { paid, passed, asked, passOn, take: (ids: readonly number[]) => paid.take(ids, passOn) }
}

test('a hold that pays all that may be written is never asked to grow', () => {
  const { asked, passed, take } = open({ paidTokens: 100, mostTokens: 100 })
  take(idsFrom(0, 100))
  expect([passed.length, asked]).toEqual([100, []])
})

test('a larger hold is requested when a sixteenth of the paid tokens is left, for half as much again', () => {
  const { asked, take } = open({ paidTokens: 1_600 })
  take(idsFrom(0, 1_499))
  expect(asked).toEqual([])
  take([1_499])
  expect(asked).toEqual([800])
})

test('with few paid tokens the request comes early and is for 256, never for more than may be written', () => {
  expect(open({ paidTokens: 5 }).asked).toEqual([256])
  expect(open({ paidTokens: 5, mostTokens: 50 }).asked).toEqual([45])
  expect(open({ written: 300, paidTokens: 310 }).asked).toEqual([256])
})

test('the request is repeated until the hold is large enough', () => {
  const { asked, paid } = open({ paidTokens: 5 })
  vi.advanceTimersByTime(1_499)
  expect(asked).toEqual([256, 256])
  vi.advanceTimersByTime(1)
  expect(asked).toEqual([256, 256, 256])
  paid.raise(261, false)
  vi.advanceTimersByTime(10_000)
  expect(asked).toHaveLength(3)
})

test('a final answer ends the requests', () => {
  const { asked, paid } = open({ paidTokens: 5 })
  paid.raise(5, true)
  vi.advanceTimersByTime(10_000)
  expect(asked).toHaveLength(1)
})

test('tokens beyond what is paid wait in their order until they are paid, and later ones behind them', () => {
  const { paid, passed, take } = open({ paidTokens: 3 })
  take([1, 2])
  take([3, 4])
  take([5])
  expect(passed).toEqual([1, 2, 3])
  paid.raise(4, false)
  expect(passed).toEqual([1, 2, 3, 4])
  paid.raise(300, false)
  take([6])
  expect(passed).toEqual([1, 2, 3, 4, 5, 6])
})

test('without money the output is over after 3 s, and nothing more is passed on', () => {
  const { paid, passed, take } = open({ paidTokens: 3 })
  take([1, 2, 3, 4])
  vi.advanceTimersByTime(2_999)
  expect(paid.isOver()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(paid.isOver()).toBe(true)
  paid.raise(100, false)
  take([5])
  expect(passed).toEqual([1, 2, 3])
  expect(vi.getTimerCount()).toBe(0)
})

test('the 3 s begin anew after money has come', () => {
  const { paid, take } = open({ paidTokens: 1 })
  take([1, 2])
  vi.advanceTimersByTime(2_000)
  paid.raise(2, false)
  take([3])
  vi.advanceTimersByTime(2_999)
  expect(paid.isOver()).toBe(false)
})

test('after a final answer the output is over with the first token that is not paid', () => {
  const { paid, take } = open({ paidTokens: 3 })
  paid.raise(3, true)
  take([1, 2, 3])
  expect(paid.isOver()).toBe(false)
  take([4])
  expect(paid.isOver()).toBe(true)
})

test('an answer of a smaller hold, which was overtaken, changes nothing', () => {
  const { paid, passed, take } = open({ paidTokens: 3 })
  paid.raise(6, false)
  paid.raise(4, false)
  take([1, 2, 3, 4, 5, 6])
  expect(passed).toHaveLength(6)
})

test('whatever comes, no token beyond what is paid is passed on, and none is lost or out of order', () => {
  const step = oneof(
    record({ kind: constant('take' as const), count: integer({ min: 1, max: 40 }) }),
    record({ kind: constant('raise' as const), to: integer({ min: 0, max: 400 }) }),
    record({ kind: constant('wait' as const), ms: integer({ min: 1, max: 1_000 }) }),
  )
  assert(
    property(integer({ min: 0, max: 60 }), array(step, { maxLength: 40 }), (paidTokens, steps) => {
      const { paid, passed, take } = open({ paidTokens, mostTokens: 400 })
      let [paidNow, given] = [paidTokens, 0]
      for (const happening of steps) {
        if (happening.kind === 'take') {
          take(idsFrom(given, happening.count))
          given += happening.count
        } else if (happening.kind === 'raise') {
          if (!paid.isOver()) paidNow = Math.max(paidNow, happening.to)
          paid.raise(happening.to, false)
        } else vi.advanceTimersByTime(happening.ms)
        expect(passed).toEqual(idsFrom(0, passed.length))
        expect(passed.length).toBeLessThanOrEqual(paidNow)
        expect(paid.isOver() || passed.length === Math.min(given, paidNow)).toBe(true)
      }
      paid.close()
      expect(vi.getTimerCount()).toBe(0)
    }),
  )
})

test('waiting ends when the tokens are paid, when the money has ended, or with the error of the signal', async () => {
  const { signal } = new AbortController()
  const none = open({ paidTokens: 3 })
  await none.paid.untilPassedOn(none.passOn, signal)
  const enough = open({ paidTokens: 3 })
  enough.take([1, 2, 3, 4])
  const whenPaid = enough.paid.untilPassedOn(enough.passOn, signal)
  enough.paid.raise(4, false)
  await whenPaid
  const short = open({ paidTokens: 3 })
  short.take([1, 2, 3, 4])
  const whenOver = short.paid.untilPassedOn(short.passOn, signal)
  vi.advanceTimersByTime(3_000)
  await whenOver
  const stop = new AbortController()
  const stopped = open({ paidTokens: 3 })
  stopped.take([1, 2, 3, 4])
  const whenStopped = stopped.paid.untilPassedOn(stopped.passOn, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(whenStopped).rejects.toThrow('stopped')
  stopped.paid.close()
})

/** Opens the output of two choices. */
function openTwo(fields: Parameters<typeof open>[0]) {
  const { paid, asked } = open({ choices: 2, ...fields })
  const choices = [0, 1].map(() => {
    const passed: number[] = []
    const passOn: PassOn = (ids) => passed.push(...ids) && ids.length
    return { passed, passOn, take: (ids: readonly number[]) => paid.take(ids, passOn) }
  })
  const [first, second] = choices
  if (first === undefined || second === undefined) throw new Error('two choices')
  return { paid, asked, first, second }
}

test('the tokens of all choices are paid in the order in which they come', async () => {
  const { paid, first, second } = openTwo({ paidTokens: 3 })
  first.take([1, 2])
  second.take([1, 2])
  first.take([3])
  second.take([3])
  expect([first.passed, second.passed]).toEqual([[1, 2], [1]])
  const passedOn = paid.untilPassedOn(first.passOn, new AbortController().signal)
  paid.raise(5, false)
  expect([first.passed, second.passed]).toEqual([
    [1, 2, 3],
    [1, 2],
  ])
  // The first choice need not wait for the tokens of the second one.
  await passedOn
  paid.close()
})

test('a choice that ends early leaves its tokens to the others, and the hold grows no further than they may need', () => {
  const { paid, asked, first, second } = openTwo({ paidTokens: 30, mostTokens: 100 })
  first.take(idsFrom(0, 5))
  expect(asked).toEqual([70])
  // The first choice may have had 50 tokens.
  paid.leave(first.passOn, 45)
  second.take(idsFrom(0, 25))
  expect(second.passed).toHaveLength(25)
  vi.advanceTimersByTime(500)
  expect(asked).toEqual([70, 25])
  paid.close()
})

test('the waiting tokens of a choice that ends are dropped, and those of the others are not', () => {
  const { paid, first, second } = openTwo({ paidTokens: 1 })
  first.take([1, 2])
  second.take([1])
  paid.leave(first.passOn, 0)
  paid.raise(2, false)
  expect([first.passed, second.passed]).toEqual([[1], [1]])
  paid.close()
})

test('tokens after a stop string pay for the others', () => {
  const { paid, second } = openTwo({ paidTokens: 4 })
  paid.take([1, 2, 3, 4], () => 2)
  second.take([1, 2])
  expect(second.passed).toEqual([1, 2])
  paid.close()
})

test('a choice that stops in tokens that have waited drops its others, which then use none of what is paid', async () => {
  const { paid, passed, take } = open({ paidTokens: 2, choices: 2 })
  const stopping: PassOn = (ids) => {
    paid.leave(stopping, 0)
    return ids.length
  }
  paid.take(idsFrom(0, 10), stopping)
  take(idsFrom(20, 3))
  const over = paid.untilPassedOn(stopping, new AbortController().signal)
  paid.raise(5, false)
  await over
  expect(passed).toEqual([20, 21, 22])
})
