import { expect, test } from 'vitest'
import { pickSuspect } from '#apps/worker/pick-suspect.ts'

const run = (name: string, firstMs: number | null, earlier = 0) => ({
  name,
  earlierIds: new Uint32Array(earlier),
  output: { tokens: 0, mostTokens: null, firstMs, lastMs: firstMs },
})
const LAST_TOKEN_MS = 100_000

const suspect = (...runs: ReturnType<typeof run>[]) => pickSuspect(runs, LAST_TOKEN_MS)?.name

test('a run without a token comes before one with its first, and the newest before older ones', () => {
  expect(suspect(run('a', null), run('b', null), run('c', 99_999))).toBe('b')
  expect(suspect(run('a', 99_000), run('b', 99_500), run('c', 50_000))).toBe('b')
})

test('output for more than two seconds, here or in an earlier epoch, clears a run', () => {
  expect(suspect(run('a', 97_999))).toBeUndefined()
  expect(suspect(run('a', 98_000))).toBe('a')
  expect(suspect(run('a', null, 5), run('b', 99_999, 1))).toBeUndefined()
  expect(suspect()).toBeUndefined()
})
