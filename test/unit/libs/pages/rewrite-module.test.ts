import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { readSpecifiers, stripTypes, toExpression } from '#libs/pages/rewrite-module.ts'

test('types become blanks, and every line stays where it is', () => {
  const source = "import type { A } from './a.ts'\nconst one: number = 1\n\nexport { one }\n"
  const lines = stripTypes('x.ts', source).split('\n')
  expect(lines[0]?.trim()).toBe('')
  expect(lines[1]).toMatch(/^const one\s+= 1$/)
  expect(lines[3]).toBe('export { one }')
})

test('comments that have their lines to themselves become empty lines', () => {
  const source =
    "/**\n * One.\n */\nconst one = 1 // its number\n  // Two.\nconst two = 'http://two' // * */\n"
  expect(stripTypes('x.ts', source)).toBe(
    "\n\n\nconst one = 1 // its number\n\nconst two = 'http://two' // * */\n",
  )
})

const MODULE = [
  "import { a, b as other } from './a.ts'",
  "import './b.ts'",
  'import{c}from"./c.js";import{d}from"./d.js";',
  'export const one = () => a + other + c + d',
  'export function two() {',
  "  return import('./e.ts')",
  '}',
  '/*',
  'export function unused() {}',
  '*/',
  'const inside = 3',
  'export { inside as three, inside }',
  'export{four}from"./f.js";',
].join('\n')

const modules: Readonly<Record<string, object>> = {
  './a.ts': { a: 'a', b: 'b' },
  './c.js': { c: 'c' },
  './d.js': { d: 'd' },
  './f.js': { four: 4 },
}

test('what a module needs before it runs is told apart from what it fetches later', () => {
  expect(readSpecifiers(MODULE)).toEqual({
    needed: ['./a.ts', './b.ts', './c.js', './d.js', './f.js'],
    later: ['./e.ts'],
  })
})

test('every form of import and export becomes an expression of the exports, line by line', () => {
  const expression = toExpression('x.ts', MODULE, {
    needed: (specifier) => `modules['${specifier}']`,
    later: (specifier) => `Promise.resolve('${specifier}')`,
  })
  expect(expression.split('\n')[5]).toBe("  return Promise.resolve('./e.ts')")
  const made: unknown = runInNewContext(
    `const { one, two, three, inside, four } = ${expression}
    ;[one(), three, inside, four, two().constructor.name]`,
    { modules },
  )
  expect(made).toEqual(['abcd', 3, 3, 4, 'Promise'])
})

test.each(["import * as all from './a.ts'", 'export default 1', 'await 1', "export * from './a.ts'"])(
  '%s is refused',
  (text) => {
    const rewrite = { needed: () => 'a', later: () => 'a' }
    expect(() => toExpression('x.ts', text, rewrite)).toThrow('x.ts cannot stand in a file with others')
  },
)
