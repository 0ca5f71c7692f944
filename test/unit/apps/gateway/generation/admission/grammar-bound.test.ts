import { expect, it } from 'vitest'
import { createGrammarBound } from '#apps/gateway/generation/admission/grammar-bound.ts'

const grammar = (name: string | null) => ({ grammar: name })

it('an account has four new grammars under way, another account its own', () => {
  const { enter } = createGrammarBound()
  const uses = ['a', 'b', 'c', 'd'].map((name) => enter('one', grammar(name)))
  expect(uses).not.toContain(null)
  expect(enter('one', grammar('e'))).toBeNull()
  expect(enter('two', grammar('e'))).not.toBeNull()
  uses[0]?.leave()
  uses[0]?.leave()
  expect(enter('one', grammar('e'))).not.toBeNull()
  expect(enter('one', grammar('f'))).toBeNull()
})

it('any number of generations share a grammar, which is under way until the last of them has ended', () => {
  const { enter } = createGrammarBound()
  for (const name of ['b', 'c', 'd']) enter('one', grammar(name))
  const uses = Array.from({ length: 50 }, () => enter('one', grammar('a')))
  for (const use of uses.slice(1)) use?.leave()
  expect(enter('one', grammar('e'))).toBeNull()
  uses[0]?.leave()
  expect(enter('one', grammar('e'))).not.toBeNull()
})

it('a grammar that has given output is compiled, and no longer new; one that ended without is', () => {
  const { enter } = createGrammarBound()
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) enter('one', grammar(name))?.compiled()
  for (const name of ['g', 'h', 'i', 'j']) enter('one', grammar(name))
  expect(enter('one', grammar('a'))).not.toBeNull()
  expect(enter('one', grammar('k'))).toBeNull()
  const { enter: other } = createGrammarBound()
  other('one', grammar('a'))?.leave()
  for (const name of ['b', 'c', 'd', 'e']) other('one', grammar(name))
  expect(other('one', grammar('a'))).toBeNull()
})

it('requests without a large grammar are not counted', () => {
  const { enter } = createGrammarBound()
  for (let turn = 0; turn < 100; turn += 1) expect(enter('one', grammar(null))).not.toBeNull()
})
