import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFiles, type SourceFile } from './source-files.ts'

/** The folders of the gateway, and what else of the gateway each may import. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'cluster-picture': [],
  demand: [],
  http: ['caller.ts', 'retry-after.ts'],
  generation: ['caller.ts', 'cluster-picture', 'demand', 'queue-clock.ts', 'reports', 'retry-after.ts'],
  endpoints: ['caller.ts', 'catalog.ts', 'generation', 'http', 'retry-after.ts'],
  page: ['endpoints'],
  reports: [],
  openapi: ['endpoints', 'http', 'retry-after.ts'],
}

test('the folders of the gateway import only downwards, and no operation imports another', () => {
  expect(sourceFiles('apps/gateway/*/**/*.ts').flatMap(forbiddenImports)).toEqual([])
})

test.each([
  ['http/a.ts', '../generation/generate.ts'],
  ['http/a.ts', '../endpoints/to-json.ts'],
  ['generation/a.ts', '../http/shorten.ts'],
  ['endpoints/a.ts', '../app.ts'],
  ['endpoints/responses/a.ts', '../completions/to-object.ts'],
  ['endpoints/fields/a.ts', '../completions/to-object.ts'],
])('the check refuses that %s imports %s', (importer, specifier) => {
  const file = { path: `apps/gateway/${importer}`, text: `import { x } from '${specifier}'` }
  expect(forbiddenImports(file)).toHaveLength(1)
})

function forbiddenImports({ path, text }: SourceFile): string[] {
  return [...text.matchAll(/\bfrom '(\.[^']+)'/g)]
    .map((match) => posix.join(posix.dirname(path), match[1] ?? ''))
    .filter((target) => !isAllowed(path, target))
    .map((target) => `${path} imports ${target}`)
}

function isAllowed(importer: string, target: string): boolean {
  const [, , fromFolder = '', ...fromRest] = importer.split('/')
  const [, , toFolder = '', ...toRest] = target.split('/')
  if (fromFolder !== toFolder) return FOLDERS[fromFolder]?.includes(toFolder) === true
  const fromOperation = fromRest.length > 1 ? fromRest[0] : undefined
  const toOperation = toRest.length > 1 ? toRest[0] : undefined
  if (fromFolder !== 'endpoints' || fromOperation === undefined || toOperation === undefined) return true
  return toOperation === fromOperation || toOperation === 'fields'
}
