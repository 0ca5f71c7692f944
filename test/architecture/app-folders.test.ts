import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFiles, type SourceFile } from './source-files.ts'

type Folders = Readonly<Record<string, readonly string[]>>

/** The folders of each app, and the other folders of the app that each folder may import. */
const APPS: Readonly<Record<string, Folders>> = {
  gateway: {
    callers: [],
    demand: [],
    endpoints: ['callers', 'catalog.ts', 'generation', 'http', 'retry-after.ts'],
    generation: ['callers', 'demand', 'reports', 'retry-after.ts', 'servers'],
    http: ['callers', 'retry-after.ts'],
    openapi: ['endpoints', 'http', 'retry-after.ts'],
    page: ['endpoints'],
    reports: [],
    servers: ['config.ts'],
  },
  worker: {
    engine: [],
    'engine-watch': ['engine'],
    intake: ['run'],
    metrics: ['engine-watch', 'run'],
    prompt: [],
    reports: ['config.ts', 'engine-watch', 'intake', 'metrics', 'prompt', 'serve-engine.ts'],
    run: ['config.ts', 'engine', 'engine-watch', 'prompt'],
  },
  billing: {
    accounts: ['books', 'database', 'resources'],
    admin: ['books', 'catalog', 'database', 'resources'],
    books: ['database', 'metrics.ts'],
    catalog: ['database'],
    database: [],
    money: ['database', 'metrics.ts'],
    resources: ['books', 'database'],
    settlements: ['database', 'metrics.ts', 'money'],
  },
}

test.each(Object.keys(APPS))('the folders of the app %s import only downwards', (app) => {
  expect(sourceFiles(`apps/${app}/*/**/*.ts`).flatMap(forbiddenImports)).toEqual([])
  const present = new Set(sourceFiles(`apps/${app}/*/**/*.ts`).map(({ path }) => path.split('/')[2] ?? ''))
  expect([...present].toSorted()).toEqual(Object.keys(APPS[app] ?? {}).toSorted())
})

test.each(Object.entries(APPS))('the table of the app %s has no circle', (_, folders) => {
  const reachable = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of folders[from] ?? []) {
      if (seen.has(next)) continue
      seen.add(next)
      reachable(next, seen)
    }
    return seen
  }
  expect(Object.keys(folders).filter((folder) => reachable(folder).has(folder))).toEqual([])
})

test.each([
  ['gateway/http/a.ts', '../generation/generate.ts'],
  ['gateway/http/a.ts', '../endpoints/to-json.ts'],
  ['gateway/generation/a.ts', '../http/shorten.ts'],
  ['gateway/endpoints/a.ts', '../app.ts'],
  // No operation imports another.
  ['gateway/endpoints/responses/a.ts', '../completions/to-object.ts'],
  ['gateway/endpoints/fields/a.ts', '../completions/to-object.ts'],
  ['worker/engine/a.ts', '../run/run-chat.ts'],
  ['billing/database/a.ts', '../money/money.ts'],
])('the check refuses that %s imports %s', (importer, specifier) => {
  const file = { path: `apps/${importer}`, text: `import { x } from '${specifier}'` }
  expect(forbiddenImports(file)).toHaveLength(1)
})

function forbiddenImports({ path, text }: SourceFile): string[] {
  return [...text.matchAll(/\bfrom '(\.[^']+)'/g)]
    .map((match) => posix.join(posix.dirname(path), match[1] ?? ''))
    .filter((target) => !isAllowed(path, target))
    .map((target) => `${path} imports ${target}`)
}

function isAllowed(importer: string, target: string): boolean {
  const [, app = '', fromFolder = '', ...fromRest] = importer.split('/')
  const [, , toFolder = '', ...toRest] = target.split('/')
  if (fromFolder !== toFolder) return APPS[app]?.[fromFolder]?.includes(toFolder) === true
  const fromOperation = fromRest.length > 1 ? fromRest[0] : undefined
  const toOperation = toRest.length > 1 ? toRest[0] : undefined
  if (fromFolder !== 'endpoints' || fromOperation === undefined || toOperation === undefined) return true
  return toOperation === fromOperation || toOperation === 'fields'
}
