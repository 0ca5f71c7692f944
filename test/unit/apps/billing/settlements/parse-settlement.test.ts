import { expect, test } from 'vitest'
import { parseSettlement } from '#apps/billing/settlements/parse-settlement.ts'

const GOOD = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  epoch: '2',
  outcome: 'completed',
  promptTokens: '100',
  cachedTokens: '20',
  completionTokens: '7',
  by: 'worker-1',
}

const fields = (values: Record<string, string>) => Object.entries(values).flat()

test('reads the flat fields of an entry', () => {
  expect(parseSettlement(fields(GOOD))).toEqual({
    settlement: { ...GOOD, epoch: 2, promptTokens: 100, cachedTokens: 20, completionTokens: 7 },
  })
})

test.each([
  ['an id that is no UUID', { id: 'x' }],
  ['an unknown outcome', { outcome: 'fine' }],
  ['an empty number, which would count as zero', { completionTokens: '' }],
  ['a number that is none', { promptTokens: 'many' }],
  ['a negative number', { promptTokens: '-1' }],
  ['more cached than prompt tokens', { cachedTokens: '101' }],
  ['epoch 0', { epoch: '0' }],
])('refuses %s', (_, change) => {
  expect(parseSettlement(fields({ ...GOOD, ...change }))).toHaveProperty('problem')
})

test.each(Object.keys(GOOD))('refuses an entry without %s', (name) => {
  const rest = Object.entries(GOOD).filter(([other]) => other !== name)
  expect(parseSettlement(rest.flat())).toHaveProperty('problem')
})
