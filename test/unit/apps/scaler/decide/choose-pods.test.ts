import { expect, test } from 'vitest'
import { choosePods, needsNoCordon } from '#apps/scaler/decide/choose-pods.ts'
import { toPod } from './fixtures.ts'

test('pods that serve least go first, and ones that already stop are not chosen', () => {
  const pods = [
    toPod('silent', { phase: 'silent' }),
    toPod('busy', { running: 9 }),
    toPod('draining', { phase: 'draining' }),
    toPod('calm', { running: 2 }),
    toPod('by-operator', { phase: 'cordoned', operatorCordoned: true, running: 5 }),
    toPod('sick', { phase: 'sick' }),
    toPod('deleting', { phase: 'deleting' }),
    toPod('loading', { phase: 'loading' }),
    toPod('unscheduled', { phase: 'unscheduled' }),
  ]
  const order = ['unscheduled', 'loading', 'sick', 'by-operator', 'calm', 'busy', 'silent']
  expect(choosePods(pods, 20).map(({ name }) => name)).toEqual(order)
  expect(choosePods(pods, 2).map(({ name }) => name)).toEqual(order.slice(0, 2))
})

test('a sick pod that still runs something needs a cordon', () => {
  expect(needsNoCordon(toPod('a', { phase: 'sick' }))).toBe(true)
  expect(needsNoCordon(toPod('a', { phase: 'sick', running: 1 }))).toBe(false)
  expect(needsNoCordon(toPod('a'))).toBe(false)
  expect(needsNoCordon(toPod('a', { phase: 'silent' }))).toBe(false)
})
