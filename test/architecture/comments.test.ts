import { expect, test } from 'vitest'
import { sourceFiles, type SourceFile } from './source-files.ts'

/** A comment names its thing: "The frames of this turn", not "Of this turn" or "What goes out in this turn". */
const KINDS = {
  /** Matches an opening word that mostly begins a fragment, without a thing or a verb. */
  opening: /^(?:Of|What|Whether)\b/,
  /** Matches a pronoun in place of a thing, which sends the reader back to look for it. */
  pointer: /\b(?:those of|that of|that one(?=[,.;:)]|$| (?:is|was|has|of|gets|may|must)\b))/i,
} as const

const comments = sourceFiles('{apps,libs,scripts,bench}/**/*.{ts,mjs,lua,sql,css}').flatMap(commentsOf)

test.each([
  ['a fragment as their opening', 'opening'],
  ['a pronoun in place of a thing', 'pointer'],
] as const)('no comment has %s', (_title, kind) => {
  expect(comments.length).toBeGreaterThan(4_000)
  const found = comments.filter(({ text }) => KINDS[kind].test(text))
  const places = found.map(({ place, text }) => `${place} ${text.slice(0, 80)}`)
  expect(places).toEqual([])
})

test('comments of every form are read, and nothing else', () => {
  const text = [
    'const a = 1 // Of the end of a line, which is not counted',
    '/** Of one line. */',
    'const b = 2',
    '/**',
    ' * What spans',
    ' * two lines.',
    ' */',
    '  // First of two,',
    '  // which are one.',
    '-- Of Lua and SQL',
    '/* Of CSS */',
  ].join('\n')
  expect(commentsOf({ path: 'a.ts', text })).toEqual([
    { place: 'a.ts:2', text: 'Of one line.' },
    { place: 'a.ts:4', text: 'What spans two lines.' },
    { place: 'a.ts:8', text: 'First of two, which are one.' },
    { place: 'a.ts:10', text: 'Of Lua and SQL' },
    { place: 'a.ts:11', text: 'Of CSS' },
  ])
})

type Comment = { readonly place: string; readonly text: string }

/** Returns the comments that fill whole lines, each with its lines joined. */
function commentsOf({ path, text }: SourceFile): Comment[] {
  const found: { place: string; mark: string; text: string }[] = []
  let open: (typeof found)[number] | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const [, mark = '', words = ''] = /^\s*(\/\*\*?|\*|\/\/|--)(?:\s+(.*?))?\s*(?:\*?\/)?$/.exec(line) ?? []
    const goesOn = mark === '*' ? open?.mark.startsWith('/*') : mark === open?.mark
    if (mark === '') open = undefined
    else if (goesOn !== true) found.push((open = { place: `${path}:${index + 1}`, mark, text: words }))
    else if (open !== undefined) open.text = `${open.text} ${words}`.trim()
    if (line.endsWith('*/')) open = undefined
  }
  return found
    .filter(({ text: words }) => words !== '')
    .map(({ place, text: words }) => ({ place, text: words }))
}
