import { expect, test } from 'vitest'
import { chooseEnded } from '#apps/gateway/reports/choose-ended.ts'
import { createRequestBook } from '#apps/gateway/reports/request-book.ts'

/** Returns requests that ended with these codes after 1, 2, 3, … s. */
function ends(codes: readonly (string | null)[]) {
  const clock = { nowMs: 0 }
  const book = createRequestBook({ nowMs: () => clock.nowMs })
  for (const [index, code] of codes.entries()) {
    const request = book.open({ id: `r${index + 1}`, accountId: 'acme', model: 'chat', receivedMs: 0 })
    clock.nowMs = (index + 1) * 1_000
    request.ended({ code, usage: code === null ? { promptTokens: 1, completionTokens: 1 } : null })
  }
  return book.takeEnded()
}

test('failures of one kind are one group with their number and the newest example', () => {
  const chosen = chooseEnded(ends(['model_busy', 'model_busy', 'upstream_error', 'model_busy']), 100)
  expect(chosen.map(({ entry, kind, weight }) => [entry.id, kind, weight])).toEqual([
    ['r4', 'failed', 3],
    ['r3', 'failed', 1],
  ])
})

test('beyond the ten slowest a sample stands for the rest', () => {
  const chosen = chooseEnded(ends(Array.from({ length: 50 }, () => null)), 20)
  expect(chosen.filter(({ kind }) => kind === 'slow').map(({ entry }) => entry.id)).toEqual(
    Array.from({ length: 10 }, (_, index) => `r${50 - index}`),
  )
  const sample = chosen.filter(({ kind }) => kind === 'sample')
  expect(sample.map(({ weight }) => weight)).toEqual(Array.from({ length: 10 }, () => 4))
  expect(chosen.reduce((sum, { weight }) => sum + weight, 0)).toBe(50)
})

test('those that were no longer kept are part of the weight', () => {
  const { kept } = ends(Array.from({ length: 12 }, () => null))
  const chosen = chooseEnded({ kept, count: 32 }, 100)
  expect(chosen.reduce((sum, { weight }) => sum + weight, 0)).toBe(32)
})

test('the limit holds however many kinds of failures there are', () => {
  const codes = Array.from({ length: 300 }, (_, index) => `code-${index}`)
  expect(chooseEnded(ends(codes), 100)).toHaveLength(100)
  expect(chooseEnded(ends([]), 100)).toEqual([])
})
