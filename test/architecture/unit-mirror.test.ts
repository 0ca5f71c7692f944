import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFiles } from './source-files.ts'

const UNIT = 'test/unit/'

/** A folder's tests show what the folder does, so modules in it may be merged or divided without a test moving. */
test('every unit test lies in the folder of the modules that it tests', () => {
  const folders = new Set(
    sourceFiles('{apps,libs,scripts,bench}/**/*.{ts,mjs}').map(({ path }) => dirname(path)),
  )
  const tests = sourceFiles(`${UNIT}**/*.test.ts`).map(({ path }) => path)
  expect(tests.length).toBeGreaterThan(100)
  expect(tests.filter((path) => !folders.has(dirname(path.slice(UNIT.length))))).toEqual([])
})

test('unit tests need no servers: they import none of the support that gives them, not even its types', () => {
  const servers =
    /#test\/support\/(?:redis|postgres|processes|cluster)\.ts|support\/(?:redis|postgres|processes|cluster)\.ts/
  const users = sourceFiles(`${UNIT}**/*.ts`).filter(({ text }) => servers.test(text))
  expect(users.map(({ path }) => path)).toEqual([])
})
