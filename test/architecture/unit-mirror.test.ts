import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

const UNIT = 'test/unit/'

/** A module may have several test files: `parse-output.stops.test.ts` also tests `parse-output.ts`. */
test('every unit test lies where its module does', () => {
  const modules = new Set(
    sourceFiles('{apps,libs,scripts,bench}/**/*.{ts,mjs}').map(({ path }) => withoutEnding(path)),
  )
  const tests = sourceFiles(`${UNIT}**/*.test.ts`).map(({ path }) => path)
  const strays = tests.filter(
    (path) => !modules.has(path.slice(UNIT.length).replace(/(?:\.[a-z]+)?\.test\.ts$/, '')),
  )
  expect(strays).toEqual([])
})

test('unit tests need no servers: they import none of the support that gives them, not even its types', () => {
  const servers =
    /#test\/support\/(?:redis|postgres|processes|cluster)\.ts|support\/(?:redis|postgres|processes|cluster)\.ts/
  const users = sourceFiles(`${UNIT}**/*.ts`).filter(({ text }) => servers.test(text))
  expect(users.map(({ path }) => path)).toEqual([])
})

function withoutEnding(path: string): string {
  return path.replace(/\.(?:ts|mjs)$/, '')
}
