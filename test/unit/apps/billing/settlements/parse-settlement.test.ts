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

test('reads the timing of a newer gateway, and an entry of an older one without it', () => {
  const parsed = parseSettlement(fields({ ...GOOD, timing: '14200,124,410,5900,stop,,0,1' }))
  expect(parsed).toMatchObject({ settlement: { timing: { waitedMs: 14_200, ahead: 124, streamed: true } } })
  expect(parseSettlement(fields(GOOD))).not.toHaveProperty('settlement.timing')
})

test('ignores fields of the next release, also empty ones', () => {
  const parsed = parseSettlement(fields({ ...GOOD, preview: 'of the next release', other: '' }))
  expect(parsed).toEqual(parseSettlement(fields(GOOD)))
  expect(parsed).toHaveProperty('settlement')
})

test('a timing that cannot be read leaves the settlement as it is', () => {
  const parsed = parseSettlement(fields({ ...GOOD, timing: 'soon' }))
  expect(parsed).toMatchObject({ settlement: { completionTokens: 7, timing: { waitedMs: null } } })
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
