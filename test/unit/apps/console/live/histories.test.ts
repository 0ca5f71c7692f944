import { expect, test } from 'vitest'
import { createHistories, type Values } from '#apps/console/live/histories.ts'

const NOTHING: Values = {
  waiting: null,
  running: null,
  asked: null,
  output: null,
  refused: null,
  firstToken: null,
}

test('ten minutes are kept by seconds and six hours by ten seconds', () => {
  const { short, long, sparkline } = createHistories()
  expect(short().waiting).toMatchObject({ stepMs: 1_000 })
  expect(short().waiting.values).toHaveLength(600)
  expect(long().waiting).toMatchObject({ stepMs: 10_000 })
  expect(long().waiting.values).toHaveLength(2_160)
  expect(sparkline()).toMatchObject({ stepMs: 10_000 })
  expect(sparkline().values).toHaveLength(60)
})

test('each name has its own values, and what was not known is null and not zero', () => {
  const histories = createHistories()
  histories.write(1_000, { ...NOTHING, waiting: 7, running: 0 })
  histories.write(2_000, { ...NOTHING, waiting: 9 })
  const { waiting, running, firstToken } = histories.short()
  expect(waiting.values.slice(-3)).toEqual([null, 7, 9])
  expect(running.values.slice(-3)).toEqual([null, 0, null])
  expect(firstToken.values.every((value) => value === null)).toBe(true)
})

test('a second without a value stays empty, and what is older than ten minutes leaves the short history alone', () => {
  const histories = createHistories()
  histories.write(10_000, { ...NOTHING, waiting: 1 })
  histories.write(12_000, { ...NOTHING, waiting: 3 })
  expect(histories.short().waiting.values.slice(-3)).toEqual([1, null, 3])
  histories.write(700_000, { ...NOTHING, waiting: 5 })
  expect(histories.short().waiting.values.filter((value) => value !== null)).toEqual([5])
  expect(histories.long().waiting.values.filter((value) => value !== null)).toHaveLength(2)
})
