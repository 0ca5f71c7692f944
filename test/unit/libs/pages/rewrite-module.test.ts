import { expect, test } from 'vitest'
import { rewriteSpecifiers, stripTypes } from '#libs/pages/rewrite-module.ts'

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

test('every form of import is rewritten, and those at run time are said to be dynamic', () => {
  const seen: string[] = []
  const text = [
    "import { a } from './a.ts'",
    "import './b.ts'",
    'import{c}from"./c.js"',
    "export { d } from './d.ts'",
    "const e = await import('./e.ts')",
  ].join('\n')
  const rewritten = rewriteSpecifiers(text, (specifier, kind) => {
    seen.push(`${specifier} ${kind}`)
    return `/${specifier.charAt(2)}`
  })
  expect(seen).toEqual(['./a.ts static', './b.ts static', './c.js static', './d.ts static', './e.ts dynamic'])
  expect(rewritten.split('\n')).toEqual([
    "import { a } from '/a'",
    "import '/b'",
    'import{c}from"/c"',
    "export { d } from '/d'",
    "const e = await import('/e')",
  ])
})
