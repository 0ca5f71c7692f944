import { expect, test } from 'vitest'
import { createRecentDeaths } from '#libs/event-bus/recent-deaths.ts'

test('gateways among the dead are listed for ten minutes, until they are heard again', () => {
  let nowMs = 0
  const deaths = createRecentDeaths(() => nowMs)
  deaths.add('first', 'gateway')
  deaths.add('worker', 'worker')
  nowMs = 1
  deaths.add('second', 'gateway')
  deaths.add('third', 'gateway')
  deaths.revive('third')
  expect(deaths.gateways()).toEqual(['first', 'second'])
  expect(['worker', 'third'].map((id) => deaths.has(id))).toEqual([true, false])
  nowMs = 600_000
  expect(deaths.gateways()).toEqual(['second'])
})

test('the oldest of more than 512 deaths is forgotten', () => {
  const deaths = createRecentDeaths(() => 0)
  for (let death = 0; death <= 512; death += 1) deaths.add(`gateway ${death}`, 'gateway')
  expect(deaths.gateways()).toHaveLength(512)
  expect(deaths.has('gateway 0')).toBe(false)
})
