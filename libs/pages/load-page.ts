import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compress, type Body } from './compress.ts'
import { joinModules } from './join-modules.ts'
import { readModules } from './read-modules.ts'
import { createResolver } from './resolve-specifier.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Matches a file that the HTML document names. A `#` begins a place in the page, and a `:` follows the scheme of an
 * address.
 */
const REFERENCE = /\b(src|href)="([^"#:]+)"/g

/** The length of the hash in an address, short enough for a list of requests. */
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
  /** The files by address, as the document names them. An address contains the hash of its file. */
  readonly assets: ReadonlyMap<string, Asset>
}

type PageSource = {
  /** The HTML file. Its `src` and `href` name files beside it, or files of the packages. */
  readonly html: URL
  /** The folder in the addresses of the page's files, relative to the document's address or from the root. */
  readonly assets: string
  /** The packages that a module may import, each with the file that its bare name means. */
  readonly packages: Readonly<Record<string, string>>
}

/**
 * Reads a page and everything that it imports. Types are removed from TypeScript, whose lines stay. Modules are joined
 * into few files. Every specifier becomes an address with the hash of its file, so that a browser may keep the file
 * forever. The HTML announces the files that are needed before the first paint, so that they are loaded at once. Throws
 * for a missing file, an import that is not allowed, and a circle of imports.
 */
export async function loadPage({ html, assets, packages }: PageSource): Promise<Page> {
  const root = fileURLToPath(new URL('.', html))
  const resolveSpecifier = createResolver({ root, repository: REPOSITORY, packages })
  const bodies = new Map<string, { text: string; type: string }>()

  function addFile(path: string, text: string): string {
    const type = TYPES[extname(path)]
    if (type === undefined) throw new Error(`${path}: a page has no files of this kind`)
    const address = `${assets}/${toFileName(path, text)}`
    bodies.set(address, { text, type })
    return address
  }

  const source = readFileSync(html, 'utf8')
  const paths = new Map<string, string>()
  for (const [, , name = ''] of source.matchAll(REFERENCE)) {
    paths.set(name, resolveSpecifier(fileURLToPath(html), toSpecifier(name, packages)))
  }
  const scripts = [...paths.values()].filter(isScript)
  const joined = joinModules(await readModules(scripts, resolveSpecifier), scripts, (file, text) =>
    addFile(isScript(file) ? file : `${file}.js`, text),
  )
  const document = source.replaceAll(REFERENCE, (_, attribute: string, name: string) => {
    const path = paths.get(name) ?? ''
    const address = isScript(path) ? joined.addressOf(path) : addFile(path, readFileSync(path, 'utf8'))
    return `${attribute}="${address}"`
  })
  const preloaded = new Set(scripts.flatMap((path) => [...joined.neededBy(path)]))
  const links = [...preloaded].map((address) => `<link rel="modulepreload" href="${address}" />`)
  const compressed = new Map<string, Asset>()
  // Files are compressed one after another: an encoder takes megabytes of memory, which the process would keep.
  for (const [address, { text, type }] of bodies) compressed.set(address, { ...(await compress(text)), type })
  return {
    html: {
      ...(await compress(document.replace('</head>', `${links.join('')}</head>`))),
      type: TYPES['.html'] ?? '',
    },
    assets: compressed,
  }
}

function isScript(path: string): boolean {
  return extname(path) === '.ts' || extname(path) === '.js'
}

/**
 * Converts a name in the HTML to a specifier. It names a file beside the document, unless it begins with the name of a
 * package.
 */
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
