import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
  return await loadPage({ html, assets: '/assets', packages: { 'lit-html': 'lit-html.js' } })
}

function addressOf(page: Page, name: string): string {
  const found = [...page.assets.keys()].find((address) => address.startsWith(`/assets/${name}.`))
  if (found === undefined) throw new Error(`there is no ${name}`)
  return found
}

/** The files with code, by the names that they begin with. */
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
  const before = await load({ ...files, 'b.ts': 'export const b = 1\n' })
  const after = await load({ ...files, 'b.ts': 'export const b = 2\n' })
  for (const name of ['main', 'c', 'shared']) {
    expect(addressOf(after, name)).not.toBe(addressOf(before, name))
  }
  expect(addressOf(after, 'a')).toBe(addressOf(before, 'a'))
})

test('modules are joined: what only one entry needs to it, what several need to one file', async () => {
  const page = await load({
    'main.ts': "import { b } from './b.ts'\nvoid import('./c.ts')\nvoid import('./e.ts')\nconsole.log(b)\n",
    'b.ts': "export const b = 'of main alone'\n",
    'c.ts': "import { d } from './d.ts'\nimport { f } from './f.ts'\nexport const c = d + f\n",
    'd.ts': "export const d = 'of c and e'\n",
    'e.ts': "import { d } from './d.ts'\nexport const e = d\n",
    'f.ts': "export const f = 'of c alone'\n",
  })
  const code = codeOf(page)
  expect(Object.keys(code).toSorted()).toEqual(['c', 'e', 'main', 'shared'])
  expect(code['main']).toContain('of main alone')
  expect(code['shared']).toContain('of c and e')
  expect(code['c']).toContain('of c alone')
})

test('a shared module cannot fetch a file that needs the shared one', async () => {
  const loading = load({
    'main.ts': "import { b } from './b.ts'\nvoid import('./c.ts')\nconsole.log(b)\n",
    'b.ts': "export const b = () => import('./c.ts')\n",
    'c.ts': "import { b } from './b.ts'\nconsole.log(b)\n",
  })
  await expect(loading).rejects.toThrow('needs and fetches itself through other files')
})

test('the document names the addresses, and announces what runs before the first paint but not what is fetched later', async () => {
  const page = await load({
    'main.ts': "import { b } from './b.ts'\nvoid import('./c.ts')\nconsole.log(b)\n",
    'b.ts': 'export const b = 1\n',
    'c.ts': "import { b } from './b.ts'\nexport const c = b\n",
  })
  const document = page.html.plain.toString()
  expect(document).toContain(`src="${addressOf(page, 'main')}"`)
  expect(document).toContain(`href="${addressOf(page, 'a')}"`)
  expect(document).toContain(`<link rel="modulepreload" href="${addressOf(page, 'shared')}" />`)
  expect(document).not.toContain(addressOf(page, 'c'))
  expect(document).toContain('href="#/here"')
})

test('each encoding holds the same body', async () => {
  const page = await load({ 'main.ts': 'const one: number = 1\nconsole.log(one)\n' })
  const main = page.assets.get(addressOf(page, 'main'))
  expect(main?.plain.toString()).toMatch(/const one\s+= 1/)
  expect(brotliDecompressSync(main?.br ?? Buffer.alloc(0))).toEqual(main?.plain)
  expect(gunzipSync(main?.gzip ?? Buffer.alloc(0))).toEqual(main?.plain)
})

test.each([
  ['a file outside of the page', "import '../elsewhere.ts'\n", 'may not import ../elsewhere.ts'],
  ['a package that is not named', "import 'zod'\n", 'may not import zod'],
  ['a module of Node', "import 'node:fs'\n", 'may not import node:fs'],
  ['an app', "import '#apps/billing/main.ts'\n", 'may not import #apps/billing/main.ts'],
  ['itself', "import './main.ts'\n", 'imports itself'],
])('a module that imports %s is refused', async (_, main, message) => {
  await expect(load({ 'main.ts': main })).rejects.toThrow(message)
})
