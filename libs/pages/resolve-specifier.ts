import { findPackageJSON } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'

/**
 * Creates the function that returns the file of a specifier in `importer`. Allowed are relative paths within the page's
 * folder or within a package, `#libs/…`, and the names of `packages`, alone or with a file in them. Throws for any
 * other specifier, so that a page cannot contain other files of this repository.
 */
export function createResolver({
  root,
  repository,
  packages,
}: {
  root: string
  repository: string
  packages: Readonly<Record<string, string>>
}): (importer: string, specifier: string) => string {
  const folders = new Map<string, string>()
  for (const name of Object.keys(packages)) {
    const description = findPackageJSON(name, import.meta.url)
    if (description === undefined) throw new Error(`the package ${name} is not installed`)
    folders.set(name, dirname(description))
  }
  const allowed = [root, join(repository, 'libs'), ...folders.values()]

  return (importer, specifier) => {
    const path = toPath(importer, specifier)
    if (path === undefined || !allowed.some((folder) => isBelow(folder, path))) {
      throw new Error(`${relative(repository, importer)} may not import ${specifier}`)
    }
    return path
  }

  function toPath(importer: string, specifier: string): string | undefined {
    if (specifier.startsWith('.')) return resolve(dirname(importer), specifier)
    if (specifier.startsWith('#libs/')) return join(repository, specifier.slice(1))
    const [name = '', ...rest] = specifier.split('/')
    const [folder, main] = [folders.get(name), packages[name]]
    if (folder === undefined || main === undefined) return undefined
    return join(folder, rest.length === 0 ? main : rest.join('/'))
  }
}

function isBelow(folder: string, path: string): boolean {
  return !relative(folder, path).startsWith('..')
}
