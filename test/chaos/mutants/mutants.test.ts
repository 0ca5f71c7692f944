import { expect, test } from 'vitest'
import { MUTANTS, readMutated } from './mutants.ts'
import { PAY_MUTANTS } from './pay-mutants.ts'

test('there are ten mutants and more, each with a name of its own and with faults', () => {
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length)
  expect(MUTANTS.length).toBeGreaterThanOrEqual(10)
  for (const { planned } of MUTANTS) expect(planned.length).toBeGreaterThan(0)
})

test.each([...MUTANTS, ...PAY_MUTANTS])(
  'the sources still have what this mutant changes: $name',
  (mutant) => {
    expect(readMutated(mutant).size).toBeGreaterThan(0)
  },
)

test('a text that is not there is an error', () => {
  const edit = { file: 'libs/event-bus/stream-inbox.ts', from: 'this text is nowhere', to: '' }
  expect(() => readMutated({ name: 'a', edits: [edit] })).toThrow('there is 0 times')
})
