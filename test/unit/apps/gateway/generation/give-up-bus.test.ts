import { expect, test } from 'vitest'
import { createGiveUpBus } from '#apps/gateway/generation/give-up-bus.ts'

test('streams are given up once for each outage of more than 15 s', () => {
  const state = { awayMs: 0, givenUp: 0 }
  const look = createGiveUpBus(
    () => state.awayMs,
    () => (state.givenUp += 1),
  )
  const after = (awayMs: number) => {
    state.awayMs = awayMs
    look()
    return state.givenUp
  }
  expect([0, 4_000, 15_000, 15_001, 20_000, 0, 3_500, 0, 16_000].map(after)).toEqual([
    0, 0, 0, 1, 1, 1, 1, 1, 2,
  ])
})
