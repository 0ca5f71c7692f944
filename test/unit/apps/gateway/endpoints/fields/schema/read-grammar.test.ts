import { expect, test } from 'vitest'
import { readGrammar } from '#apps/gateway/endpoints/fields/schema/read-grammar.ts'

test.each([
  'root ::= "yes" | "no"',
  'root ::= item (", " item)*\nitem ::= [a-z]+ | "(" root ")"',
  'root ::= "a" root | "b"',
  'root ::= "a" root?',
  'root ::= "a" root{0,3}',
  'root ::= ("a" root)* "b"',
  'root ::= "" | "a" root',
  'root ::= "a" (root | "b") # dead ::= dead',
])('a grammar is accepted if each of its rules derives a text: %s', (grammar) => {
  expect(readGrammar(grammar).problem).toBeNull()
})

test.each([
  ['root ::= [^#]* "#" dead\ndead ::= dead "x"', 'the rule dead derives no text'],
  ['root ::= "a" | dead\ndead ::= "x" dead', 'the rule dead derives no text'],
  ['root ::= "a" dead*\ndead ::= "x" dead', 'the rule dead derives no text'],
  ['root ::= "a" one\none ::= "b" two\ntwo ::= ("c" | "d") one | two', 'derives no text'],
  ['root ::= "a"\ndead ::= dead "x"', 'the rule dead derives no text'],
  ['root ::= "a" root', 'the rule root derives no text'],
  ['root ::= ("a" | "b" root) root', 'the rule root derives no text'],
  ['root ::= [a-z]{20} [^\\x00-\\U0010FFFF]', 'excludes every character'],
  ['root ::= "a" ("b" | [^\\s\\S])', 'excludes every character'],
  ['root ::= "a" (dead)?\ndead ::= [^\\s\\S]', 'excludes every character'],
])('a grammar at whose dead end a generation may arrive is refused: %s', (grammar, problem) => {
  expect(readGrammar(grammar).problem).toContain(problem)
})

test.each([
  'root ::= root{0}',
  'root ::= "x" a\na ::= a{0,2}',
  'root ::= "x"\na ::= "" b{0}\nb ::= a',
  'root ::= "x" a\na ::= (a{0})',
])('a grammar that would take the engine down is refused: %j', (grammar) => {
  expect(readGrammar(grammar).problem).toContain('derives no text')
})

test.each(['root ::= root{0} | "x"', 'root ::= node{0,3}\nnode ::= "[" root "]"', 'root ::= "y" root{0}'])(
  'a rule with a text of its own may repeat itself: %j',
  (grammar) => {
    expect(readGrammar(grammar).problem).toBeNull()
  },
)

test('a grammar of the greatest length is read in a moment', () => {
  const rules = Array.from({ length: 1_600 }, (_, index) => `r${index} ::= "" | r${index + 1}`)
  const grammar = ['root ::= r0', ...rules, 'r1600 ::= "x"'].join('\n')
  const began = process.cpuUsage()
  expect(readGrammar(grammar).problem).toBeNull()
  expect(process.cpuUsage(began).user).toBeLessThan(500_000)
})
