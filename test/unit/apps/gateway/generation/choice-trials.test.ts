import { expect, test } from 'vitest'
import { createChoiceTrials } from '#apps/gateway/generation/choice-trials.ts'

test('choices take turns: the next one follows when the one before leaves, also while others wait', async () => {
  const trials = createChoiceTrials()
  const begun: number[] = []
  const turns = [2, 0, 3].map(async (choice) => {
    await trials.turn(choice)
    begun.push(choice)
  })
  await turns[0]
  expect(begun).toEqual([2])
  trials.leave(0)
  trials.leave(2)
  trials.leave(2)
  await turns[2]
  expect(begun).toEqual([2, 3])
  trials.leave(3)
  await trials.turn(2)
})

test('a worker counts once, and the first kill is noted', () => {
  const trials = createChoiceTrials()
  for (const worker of ['w1', 'w1', 'w2']) trials.engineDied(worker)
  expect([trials.deaths(), trials.isFirstKill(), trials.isFirstKill()]).toEqual([2, true, false])
})
