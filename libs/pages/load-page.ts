import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname, relative, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compress, type Body } from './compress.ts'
import { createResolver } from './resolve-specifier.ts'
import { readSpecifiers, rewriteSpecifiers, stripTypes } from './rewrite-module.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** In HTML: a file that the document names. A `#` begins a place in the page, a `:` follows the scheme of an address. */
const REFERENCE = /\b(src|href)="([^"#:]+)"/g

/** The longest address that a person still reads in a list of requests. */
const HASH_LENGTH = 12

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

export type Asset = Body & { readonly type: string }

/** A page, ready to be sent from memory. */
export type Page = {
  readonly html: Asset
  /** By address, as the document names it. An address contains the hash of its body. */
  readonly assets: ReadonlyMap<string, Asset>
}

type PageSource = {
  /** The HTML file. Its `src` and `href` name files beside it, or files of the packages. */
  readonly html: URL
  /** The folder of the addresses of its files; relative to the document's own address, or from the root on. */
  readonly assets: string
  /** The packages that a module may import, with the file that stands for the package's name. */
  readonly packages: Readonly<Record<string, string>>
}

type Module = { readonly address: string; readonly needs: ReadonlySet<string> }

/**
 * Reads a page and everything that it imports. TypeScript loses its types and keeps its lines; every specifier becomes
 * an address with the hash of the file behind it, so that a browser may keep it forever. Modules that are needed before
 * the first paint are announced in the HTML, so that they are fetched at once. Throws for a file that is missing, an
 * import that is not allowed, and a circle of imports.
 */
export async function loadPage({ html, assets, packages }: PageSource): Promise<Page> {
  const root = fileURLToPath(new URL('.', html))
  const resolveSpecifier = createResolver({ root, repository: REPOSITORY, packages })
  const bodies = new Map<string, { text: string; type: string }>()
  const modules = new Map<string, Module>()
  const open = new Set<string>()

  function addFile(path: string, text: string): string {
    const type = TYPES[extname(path)]
    if (type === undefined) throw new Error(`${path}: a page has no files of this kind`)
    const address = `${assets}/${toFileName(path, text)}`
    bodies.set(address, { text, type })
    return address
  }

  async function addModule(path: string): Promise<Module> {
    const known = modules.get(path)
    if (known !== undefined) return known
    if (open.has(path)) throw new Error(`${relative(REPOSITORY, path)} imports itself through other modules`)
    open.add(path)
    const text = await readModule(path)
    const imported = new Map<string, Module>()
    for (const specifier of readSpecifiers(text)) {
      imported.set(specifier, await addModule(resolveSpecifier(path, specifier)))
    }
    const needs = new Set<string>()
    const rewritten = rewriteSpecifiers(text, (specifier, kind) => {
      const target = imported.get(specifier)
      if (target === undefined) throw new Error(`${specifier} was not read`)
      if (kind === 'static') for (const address of [target.address, ...target.needs]) needs.add(address)
      // All files are in one folder, wherever a proxy has put it.
      return `.${target.address.slice(assets.length)}`
    })
    const added = { address: addFile(path, rewritten), needs }
    open.delete(path)
    modules.set(path, added)
    return added
  }

  const preloaded = new Set<string>()
  const source = readFileSync(html, 'utf8')
  const addresses = new Map<string, string>()
  for (const [, , name = ''] of source.matchAll(REFERENCE)) {
    const path = resolveSpecifier(fileURLToPath(html), toSpecifier(name, packages))
    if (extname(path) === '.ts' || extname(path) === '.js') {
      const { address, needs } = await addModule(path)
      for (const needed of needs) preloaded.add(needed)
      addresses.set(name, address)
    } else addresses.set(name, addFile(path, readFileSync(path, 'utf8')))
  }
  const document = source.replaceAll(
    REFERENCE,
    (_, attribute: string, name: string) => `${attribute}="${addresses.get(name)}"`,
  )
  const links = [...preloaded].map((address) => `<link rel="modulepreload" href="${address}" />`)
  const compressed = new Map<string, Asset>()
  // One after the other: an encoder takes megabytes, which the process would keep.
  for (const [address, { text, type }] of bodies) compressed.set(address, { ...(await compress(text)), type })
  return {
    html: {
      ...(await compress(document.replace('</head>', `${links.join('')}</head>`))),
      type: TYPES['.html'] ?? '',
    },
    assets: compressed,
  }
}

/** After a turn of the event loop: a server that serves others meanwhile is not held up by a whole page. */
async function readModule(path: string): Promise<string> {
  await setImmediate()
  return stripTypes(path, readFileSync(path, 'utf8'))
}

/** In HTML a bare name is a file beside the document, except where it begins with the name of a package. */
function toSpecifier(name: string, packages: Readonly<Record<string, string>>): string {
  const first = name.split('/')[0] ?? ''
  return first in packages ? name : `./${name}`
}

function toFileName(path: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, HASH_LENGTH)
  const ending = extname(path)
  const name = resolve(path)
    .slice(0, -ending.length)
    .replace(/^.*\//, '')
    .replaceAll(/[^\w-]/g, '-')
  return `${name}.${hash}${ending === '.ts' ? '.js' : ending}`
}
