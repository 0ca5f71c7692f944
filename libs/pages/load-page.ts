import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compress, type Body } from './compress.ts'
import { createResolver } from './resolve-specifier.ts'
import { rewriteSpecifiers, stripTypes } from './rewrite-module.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

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
  /** By address, from the root of the server on. An address contains the hash of its body. */
  readonly assets: ReadonlyMap<string, Asset>
}

type PageSource = {
  /** The HTML file. Its `src` and `href` name files beside it, or files of the packages. */
  readonly html: URL
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
export async function loadPage({ html, packages }: PageSource): Promise<Page> {
  const root = fileURLToPath(new URL('.', html))
  const resolveSpecifier = createResolver({ root, repository: REPOSITORY, packages })
  const bodies = new Map<string, { text: string; type: string }>()
  const modules = new Map<string, Module>()
  const open = new Set<string>()

  function addFile(path: string, text: string): string {
    const type = TYPES[extname(path)]
    if (type === undefined) throw new Error(`${path}: a page has no files of this kind`)
    const address = toAddress(path, text)
    bodies.set(address, { text, type })
    return address
  }

  function addModule(path: string): Module {
    const known = modules.get(path)
    if (known !== undefined) return known
    if (open.has(path)) throw new Error(`${relative(REPOSITORY, path)} imports itself through other modules`)
    open.add(path)
    const needs = new Set<string>()
    const text = rewriteSpecifiers(stripTypes(path, readFileSync(path, 'utf8')), (specifier, kind) => {
      const target = addModule(resolveSpecifier(path, specifier))
      if (kind === 'static') for (const address of [target.address, ...target.needs]) needs.add(address)
      return target.address
    })
    const added = { address: addFile(path, text), needs }
    open.delete(path)
    modules.set(path, added)
    return added
  }

  const preloaded = new Set<string>()
  const document = readFileSync(html, 'utf8').replaceAll(
    /\b(src|href)="([^"#:]+)"/g,
    (_, attribute: string, name: string) => {
      const path = resolveSpecifier(fileURLToPath(html), toSpecifier(name, packages))
      if (extname(path) !== '.ts' && extname(path) !== '.js') {
        return `${attribute}="${addFile(path, readFileSync(path, 'utf8'))}"`
      }
      const { address, needs } = addModule(path)
      for (const needed of needs) preloaded.add(needed)
      return `${attribute}="${address}"`
    },
  )
  const links = [...preloaded].map((address) => `<link rel="modulepreload" href="${address}" />`)
  const assets = await Promise.all(
    Array.from(
      bodies,
      async ([address, { text, type }]) => [address, { ...(await compress(text)), type }] as const,
    ),
  )
  return {
    html: {
      ...(await compress(document.replace('</head>', `${links.join('')}</head>`))),
      type: TYPES['.html'] ?? '',
    },
    assets: new Map(assets),
  }
}

/** In HTML a bare name is a file beside the document, except where it begins with the name of a package. */
function toSpecifier(name: string, packages: Readonly<Record<string, string>>): string {
  const first = name.split('/')[0] ?? ''
  return first in packages ? name : `./${name}`
}

function toAddress(path: string, text: string): string {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, HASH_LENGTH)
  const ending = extname(path)
  const name = resolve(path)
    .slice(0, -ending.length)
    .replace(/^.*\//, '')
    .replaceAll(/[^\w-]/g, '-')
  return `/assets/${name}.${hash}${ending === '.ts' ? '.js' : ending}`
}
