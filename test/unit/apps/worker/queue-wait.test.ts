import { expect, test } from 'vitest'
import { toQueueWaitMs } from '#apps/worker/queue-wait.ts'

/** The example of RFC 9562: February 22, 2022 2:22:22.00 PM GMT-05:00. */
const ID = '017f22e2-79b0-7cc3-98c4-dc0c0c07398f'
const MADE_MS = Date.parse('2022-02-22T14:22:22.000-05:00')

test('a generation has waited since the time in its id', () => {
  expect(toQueueWaitMs(ID, MADE_MS + 1_500)).toBe(1_500)
  expect(toQueueWaitMs(ID.toUpperCase(), MADE_MS)).toBe(0)
})

test('a gateway whose clock is ahead makes no negative wait', () => {
  expect(toQueueWaitMs(ID, MADE_MS - 40)).toBe(0)
})

test('an id of another kind has no time', () => {
  expect(toQueueWaitMs('f47ac10b-58cc-4372-a567-0e02b2c3d479', MADE_MS)).toBeNull()
  expect(toQueueWaitMs('gen-1', MADE_MS)).toBeNull()
})
