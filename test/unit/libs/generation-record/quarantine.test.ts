import { expect, test } from 'vitest'
import { isInQuarantine } from '#libs/generation-record/quarantine.ts'

test('each death makes the quarantine longer; an embedding, which begins anew, is in it until its end', () => {
  const isIn = (engineDeaths: number, tokens: number, choices = 1) =>
    isInQuarantine({ kind: 'chat', engineDeaths, choices, tokens })
  expect(isIn(0, 0)).toBe(false)
  for (const [engineDeaths, tokens] of [
    [1, 3],
    [2, 96],
    [3, 3_072],
  ] as const) {
    expect([isIn(engineDeaths, tokens - 1), isIn(engineDeaths, tokens)]).toEqual([true, false])
  }
  expect([isIn(1, 23, 8), isIn(1, 24, 8)]).toEqual([true, false])
  expect(isInQuarantine({ kind: 'embedding', engineDeaths: 1, choices: 1, tokens: 1_000 })).toBe(true)
})
