import { expect, test } from 'vitest'
import { MAX_CHOICES, toChoiceId, toRequestId } from '#libs/contracts/choices.ts'

test('the first choice has the id of its request, and the id of every choice leads to the request', () => {
  const request = '01890a5d-ac96-774b-bcce-b302099a8057'
  const ids = Array.from({ length: MAX_CHOICES }, (_, choice) => toChoiceId(request, choice))
  expect(ids[0]).toBe(request)
  expect(new Set(ids).size).toBe(MAX_CHOICES)
  expect(new Set(ids.map(toRequestId))).toEqual(new Set([request]))
})
