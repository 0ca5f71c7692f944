import { readFileSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleFiles } from './bundle-files.ts'
import { compress, type Body } from './compress.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Matches a file that the HTML document names. A reference with `#` names a place in the page, and a reference with `:`
 * is an address with a scheme; neither is matched.
 */
const REFERENCE = /\b(src|href)="([^"#:]+)"/g

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
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
  /** The HTML file. Its `src` and `href` name files relative to its own folder. */
  readonly html: URL
  /** The folder in the addresses of the page's files, relative to the document's address or from the root. */
  readonly assets: string
  /** The packages that a module may import. */
  readonly packages: readonly string[]
}

/**
 * Reads a page, and bundles everything that it imports. In the HTML, each name of a file is replaced by an address with
 * the file's hash, so that a browser may keep the file forever. The HTML announces the files that are needed before the
 * first paint, so that they are loaded at once. Throws for a missing file and for an import that is not allowed.
 */
export async function loadPage({ html, assets, packages }: PageSource): Promise<Page> {
  const folder = dirname(fileURLToPath(html))
  const source = readFileSync(html, 'utf8')
  const entries = [...source.matchAll(REFERENCE)].map(([, , name = '']) => resolve(folder, name))
  const allowed = [
    folder,
    join(REPOSITORY, 'libs'),
    ...packages.map((name) => join(REPOSITORY, 'node_modules', name)),
  ]
  const files = await bundleFiles(entries, allowed)

  const preloaded = new Set<string>()
  const document = source.replaceAll(REFERENCE, (_, attribute: string, name: string) => {
    const file = files.find(({ entry }) => entry === resolve(folder, name))
    if (file === undefined) throw new Error(`${name} was not bundled`)
    for (const each of file.needs) preloaded.add(each)
    return `${attribute}="${assets}/${file.name}"`
  })
  const links = [...preloaded].map((name) => `<link rel="modulepreload" href="${assets}/${name}" />`)
  const compressed = new Map<string, Asset>()
  // Files are compressed one after another: an encoder takes megabytes of memory, which the process would keep.
  for (const { name, text } of files) compressed.set(`${assets}/${name}`, await toAsset(name, text))
  return {
    html: await toAsset('.html', document.replace('</head>', `${links.join('')}</head>`)),
    assets: compressed,
  }
}

async function toAsset(name: string, text: string): Promise<Asset> {
  const type = TYPES[extname(name) || name]
  if (type === undefined) throw new Error(`${name}: a page has no files of this kind`)
  return { ...(await compress(text)), type }
}
