import { expect, test } from 'vitest'
import { toTitle } from '#apps/ctl/field-words.ts'

test.each([
  ['status', 'status'],
  ['at', 'at'],
  ['id', 'id'],
  ['lastUsedAt', 'last used'],
  ['accountId', 'account'],
  ['writtenOffNano', 'written off'],
  ['promptTokens', 'prompt'],
  ['firstSeq', 'first'],
  ['waitedMs', 'waited (ms)'],
  ['ageSeconds', 'age (s)'],
  ['rotatedFrom', 'rotated from'],
])('the title of %s is %s', (name, title) => {
  expect(toTitle(name)).toBe(title)
})
