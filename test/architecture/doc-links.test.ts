import { existsSync } from 'node:fs'
import { join, normalize } from 'node:path/posix'
import { expect, test } from 'vitest'
import { REPOSITORY, sourceFiles } from './source-files.ts'

const LINK = /\]\(([^)#\s]+)/g
/** A path of this repository that is written as code: `libs/money/price.ts`. */
const PATH = /`((?:apps|bench|deploy|libs|proto|scripts)\/[\w./-]+)`/g

test('every file that a document links or names exists', () => {
  const named = sourceFiles('{*.md,{apps,docs,libs}/**/*.md}').flatMap(({ path, text }) => {
    const links = targetsOf(text, LINK)
      .filter((target) => !target.startsWith('https:'))
      .map((target) => normalize(join(path, '..', target)))
    return [...links, ...targetsOf(text, PATH)].map((target) => ({ document: path, target }))
  })
  expect(named.length).toBeGreaterThan(50)
  expect(named.filter(({ target }) => !existsSync(join(REPOSITORY, target)))).toEqual([])
})

function targetsOf(text: string, pattern: RegExp): string[] {
  return Array.from(text.matchAll(pattern), (match) => match[1] ?? '')
}
