import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadPage, type Page } from '#libs/pages/load-page.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-page-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const HTML = `<html><head><link rel="stylesheet" href="a.css" /></head>
<body><a href="#/here">here</a><script type="module" src="main.ts"></script></body></html>`

async function load(files: Readonly<Record<string, string>>): Promise<Page> {
  for (const [name, text] of Object.entries({ 'index.html': HTML, 'a.css': 'a{}', ...files })) {
    writeFileSync(join(folder, name), text)
  }
  const html = pathToFileURL(join(folder, 'index.html'))
  return await loadPage({ html, assets: '/assets', packages: ['lit-html'] })
}

function addressOf(page: Page, name: string): string {
  const found = [...page.assets.keys()].find((address) => address.startsWith(`/assets/${name}.`))
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}

/** Returns the files with code, by the beginnings of their names. */
function codeOf(page: Page): Record<string, string> {
  const files = [...page.assets].filter(([address]) => address.endsWith('.js'))
  return Object.fromEntries(
    files.map(([address, { plain }]) => [address.split('/').at(-1)?.split('.')[0] ?? '', plain.toString()]),
  )
}

test('an address changes with each module in its file, and with every file that it imports', async () => {
  const files = {
    'main.ts': "import { b } from './b.ts'\nvoid import('./c.ts')\nconsole.log(b)\n",
    'c.ts': "import { b } from './b.ts'\nconsole.log(b)\n",
  }
  const before = await load({ ...files, 'b.ts': 'export const b = [1]\n' })
  const after = await load({ ...files, 'b.ts': 'export const b = [2]\n' })
  for (const name of ['main', 'c', 'chunk']) {
    expect(addressOf(after, name)).not.toBe(addressOf(before, name))
  }
  expect(addressOf(after, 'a')).toBe(addressOf(before, 'a'))
})

test('modules are joined: what only one entry needs to it, what several need to one file', async () => {
  const page = await load({
    'main.ts':
      "import { b } from './b.ts'\nimport { g } from './g.ts'\nvoid import('./c.ts')\nvoid import('./e.ts')\nconsole.log(b, g)\n",
    'b.ts': "export const b = 'of main alone'\n",
    'c.ts': "import { d } from './d.ts'\nimport { f } from './f.ts'\nexport const c = d + f\n",
    'd.ts': "export const d = 'of c and e'\n",
    'e.ts': "import { d } from './d.ts'\nimport { g } from './g.ts'\nexport const e = d + g\n",
    'f.ts': "export const f = 'of c alone'\n",
    'g.ts': "export const g = 'of main and e'\n",
  })
  const code = codeOf(page)
  expect(Object.keys(code).toSorted()).toEqual(['c', 'chunk', 'e', 'main'])
  expect(code['main']).toContain('of main alone')
  expect(code['chunk']).toContain('of c and e')
  expect(code['chunk']).toContain('of main and e')
  expect(code['c']).toContain('of c alone')
})

test('a shared module may load a file that needs the shared one', async () => {
  const page = await load({
    'main.ts': "import { b } from './b.ts'\nvoid import('./c.ts')\nconsole.log(b)\n",
    'b.ts': "export const b = () => import('./c.ts')\n",
    'c.ts': "import { b } from './b.ts'\nconsole.log(b)\n",
  })
  const name = addressOf(page, 'c').replace('/assets/', './')
  expect(codeOf(page)['chunk']).toContain(`import("${name}")`)
})

test('pages may be loaded at the same time, and no process of the bundler stays', async () => {
  const small = { 'main.ts': "console.log('here')\n" }
  const [first, ...others] = await Promise.all([load(small), load(small), load(small)])
  expect(first?.assets.size).toBe(2)
  for (const other of others) expect([...other.assets.keys()]).toEqual([...(first?.assets.keys() ?? [])])
  await expect.poll(namesOfChildren).not.toContain('esbuild')
})

/** Returns the names of this process's children. */
function namesOfChildren(): string[] {
  const ids = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ')
  return ids.filter((id) => id !== '').map((id) => readFileSync(`/proc/${id}/comm`, 'utf8').trim())
}

test('the document names the addresses, and announces what runs before the first paint but not what is fetched later', async () => {
  const page = await load({
    'main.ts': "import { b } from './b.ts'\nvoid import('./c.ts')\nconsole.log(b)\n",
    'b.ts': 'export const b = 1\n',
    'c.ts': "import { b } from './b.ts'\nexport const c = b\n",
  })
  const document = page.html.plain.toString()
  expect(document).toContain(`src="${addressOf(page, 'main')}"`)
  expect(document).toContain(`href="${addressOf(page, 'a')}"`)
  expect(document).toContain(`<link rel="modulepreload" href="${addressOf(page, 'chunk')}" />`)
  expect(document).not.toContain(addressOf(page, 'c'))
  expect(document).toContain('href="#/here"')
})

test('each encoding holds the same body', async () => {
  const page = await load({ 'main.ts': 'const one: number = 1\nconsole.log(one)\n' })
  const main = page.assets.get(addressOf(page, 'main'))
  expect(main?.plain.toString()).toBe('var one=1;console.log(one);\n')
  expect(brotliDecompressSync(main?.br ?? Buffer.alloc(0))).toEqual(main?.plain)
  expect(gunzipSync(main?.gzip ?? Buffer.alloc(0))).toEqual(main?.plain)
})

test.each([
  [
    'a file outside of the page',
    `import '${process.cwd()}/apps/gateway/retry-after.ts'\n`,
    'may not import /',
  ],
  ['a missing file', "import './elsewhere.ts'\n", 'Could not resolve "./elsewhere.ts"'],
  ['a package that is not named', `import '${process.cwd()}/node_modules/zod'\n`, 'may not import /'],
  ['a module of Node', "import 'node:fs'\n", 'Could not resolve "node:fs"'],
  ['another host', "import 'https://example.com/a.js'\n", 'may not import https://example.com/a.js'],
])('a module that imports %s is refused', async (_, main, message) => {
  await expect(load({ 'main.ts': main })).rejects.toThrow(message)
})

test('a style sheet with a mistake is refused', async () => {
  const loading = load({ 'main.ts': '', 'a.css': 'a { colour red }' })
  await expect(loading).rejects.toThrow(/a\.css:1: Expected ":"/)
})
