import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFiles, type SourceFile } from './source-files.ts'

/** The libs that each lib may import. A lib that is not listed may not exist. */
const LIBS: Readonly<Record<string, readonly string[]>> = {
  'account-contract': ['contracts', 'http-contract'],
  'admin-contract': ['contracts', 'http-contract', 'money'],
  'api-key': [],
  'billing-client': [
    'account-contract',
    'contracts',
    'grpc',
    'http-contract',
    'money',
    'short-lived',
    'telemetry',
  ],
  'catalog-file': ['contracts'],
  certificates: ['telemetry'],
  'chat-template': ['clock', 'contracts', 'json-schema', 'tokenizer'],
  clock: [],
  config: [],
  contracts: [],
  demand: [],
  dialect: ['contracts', 'json-schema', 'tokenizer'],
  'event-bus': ['clock', 'contracts', 'live-view', 'queue-redis', 'short-lived', 'telemetry'],
  'fair-share': [],
  'generation-record': ['contracts', 'queue-redis', 'redis'],
  grpc: ['certificates', 'config', 'telemetry'],
  'http-contract': [],
  'job-queue': ['clock', 'queue-redis', 'telemetry'],
  'json-schema': [],
  kubernetes: ['certificates', 'telemetry'],
  lifecycle: ['certificates', 'config', 'telemetry'],
  'model-files': ['chat-template', 'contracts', 'dialect', 'grpc', 'tokenizer'],
  'live-view': ['contracts'],
  money: [],
  'page-parts': ['account-contract', 'clock', 'money'],
  pages: [],
  'queue-redis': ['config', 'redis'],
  'rate-limit': [],
  redis: ['config', 'lifecycle', 'telemetry'],
  'short-lived': [],
  telemetry: [],
  threads: ['telemetry'],
  tokenizer: [],
}

/** The top folders that each top folder may import. Libs and apps have further rules. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  apps: ['apps', 'libs', 'proto'],
  libs: ['libs', 'proto'],
  scripts: ['scripts', 'libs'],
  bench: ['bench', 'apps', 'libs', 'proto', 'scripts', 'test'],
  test: ['test', 'apps', 'libs', 'proto', 'scripts', 'bench'],
}

/** Matches every way to name a module: import, import type, export from, import() as a value and as a type. */
const SPECIFIER = /(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]/g

/** Matches an import or export from proto/types that is not removed together with the types. */
const VALUE_OF_TYPES = /(?:^(?:import|export)\b(?! type )[^'"]*|\bimport\()'#proto\/types\//m

test('every import follows the table', () => {
  const files = sourceFiles('{apps,libs,scripts,bench,test}/**/*.{ts,mjs}')
  expect(files.flatMap(forbiddenImports)).toEqual([])
})

test('the table names exactly the libs that there are', () => {
  const present = new Set(sourceFiles('libs/**/*.ts').map(({ path }) => path.split('/')[1] ?? ''))
  expect([...present].toSorted()).toEqual(Object.keys(LIBS).toSorted())
})

test('the table has no circle', () => {
  expect(Object.keys(LIBS).filter((lib) => reachable(lib).has(lib))).toEqual([])
})

test('the generated types are imported as types only, because a running app does not have them', () => {
  const files = sourceFiles('{apps,libs,scripts,bench,test}/**/*.ts')
  const all = files.filter(({ text }) => text.includes("'#proto/types/"))
  expect(all).not.toEqual([])
  expect(all.filter(({ text }) => VALUE_OF_TYPES.test(text)).map(({ path }) => path)).toEqual([])
})

test('the check sees every form of import, of types as well', () => {
  const refused = [
    "import type { Config } from '#apps/worker/config.ts'",
    "import { main } from '../worker/main.ts'",
    "export { main } from '#apps/worker/main.ts'",
    "const main = await import('#apps/worker/main.ts')",
    "type Main = import('#apps/worker/main.ts').Main",
    "import '#apps/worker/main.ts'",
    "import { test } from '#test/support/redis.ts'",
  ]
  const missed = refused.filter((text) => forbiddenImports({ path: 'apps/gateway/a.ts', text }).length !== 1)
  expect(missed).toEqual([])
  const type = "import type { Redis } from '#libs/redis/connect.ts'"
  expect(forbiddenImports({ path: 'libs/contracts/a.ts', text: type })).toHaveLength(1)
  expect(forbiddenImports({ path: 'apps/gateway/a.ts', text: type })).toEqual([])
})

function forbiddenImports({ path, text }: SourceFile): string[] {
  return [...text.matchAll(SPECIFIER)]
    .map((match) => toPath(path, match[1] ?? ''))
    .filter((target) => target !== undefined && !isAllowed(path, target))
    .map((target) => `${path} imports ${target}`)
}

/** Returns the imported file's path in the repository; undefined for a package. */
function toPath(importer: string, specifier: string): string | undefined {
  if (specifier.startsWith('#')) return specifier.slice(1)
  return specifier.startsWith('.') ? posix.join(posix.dirname(importer), specifier) : undefined
}

function isAllowed(importer: string, target: string): boolean {
  const [fromFolder = '', fromPart = ''] = importer.split('/')
  const [toFolder = '', toPart = ''] = target.split('/')
  if (FOLDERS[fromFolder]?.includes(toFolder) !== true) return false
  if (fromFolder === 'apps' && toFolder === 'apps') return fromPart === toPart
  if (fromFolder === 'libs' && toFolder === 'libs')
    return fromPart === toPart || LIBS[fromPart]?.includes(toPart) === true
  return true
}

/** Returns every lib that `lib` imports, directly or through other libs. */
function reachable(lib: string): Set<string> {
  const seen = new Set<string>()
  const open = [...(LIBS[lib] ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    open.push(...(LIBS[next] ?? []))
  }
  return seen
}
