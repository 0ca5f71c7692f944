import type { Module } from './read-modules.ts'
import { toExpression } from './rewrite-module.ts'

/** The name of the file with the modules that several other files need. */
const SHARED = 'shared'

type Joined = {
  /** Returns the address of the file with this module, which is a root or is loaded later. */
  addressOf(path: string): string
  /** Returns the addresses of the other files that must be loaded before this root's code runs. */
  neededBy(path: string): ReadonlySet<string>
}

/**
 * Joins modules into few files, because each file costs a request and compresses separately. Each root, and each module
 * that is loaded later, has a file with the modules that only it needs. Modules that several of these files need are in
 * one shared file. `addFile` keeps a file and returns its address. `modules` must have the order of `readModules`.
 * Throws if a shared module loads a file that needs the shared file: an address contains the hash of its file, so
 * neither file could be made first.
 */
export function joinModules(
  modules: ReadonlyMap<string, Module>,
  roots: readonly string[],
  addFile: (name: string, text: string) => string,
): Joined {
  const entries = new Set([...roots, ...[...modules.values()].flatMap(({ later }) => [...later.values()])])
  const fileOf = chooseFiles(modules, entries)
  const variables = new Map([...modules.keys()].map((path, index) => [path, `m${index}`]))
  const files = new Map<string, { address: string; needs: ReadonlySet<string> } | 'open'>()

  function write(file: string): { address: string; needs: ReadonlySet<string> } {
    const known = files.get(file)
    if (known === 'open') throw new Error(`${file} needs and fetches itself through other files`)
    if (known !== undefined) return known
    files.set(file, 'open')
    const members = [...modules.values()].filter(({ path }) => fileOf.get(path) === file)
    const foreign = new Map<string, Set<string>>()
    const parts = members.map((module) => {
      for (const path of module.needed.values()) {
        const other = find(fileOf, path)
        if (other !== file) foreign.set(other, (foreign.get(other) ?? new Set()).add(find(variables, path)))
      }
      const expression = toExpression(module.path, module.text, {
        needed: (specifier) => find(variables, find(module.needed, specifier)),
        later(specifier) {
          const path = find(module.later, specifier)
          const variable = find(variables, path)
          return `import('${toSibling(write(find(fileOf, path)).address)}').then(({ ${variable} }) => ${variable})`
        },
      })
      return `const ${find(variables, module.path)} = ${expression}\n`
    })
    const needs = new Set<string>()
    const imports = [...foreign].map(([other, names]) => {
      const { address, needs: further } = write(other)
      for (const each of [address, ...further]) needs.add(each)
      return `import { ${[...names].join(', ')} } from '${toSibling(address)}'\n`
    })
    const names = members.map(({ path }) => find(variables, path)).join(', ')
    const address = addFile(file, `${imports.join('')}${parts.join('')}export { ${names} }\n`)
    const written = { address, needs }
    files.set(file, written)
    return written
  }

  return {
    addressOf: (path) => write(find(fileOf, path)).address,
    neededBy: (path) => write(find(fileOf, path)).needs,
  }
}

/** Returns the file of each module: the file of the only entry that needs it, or the shared one. */
function chooseFiles(
  modules: ReadonlyMap<string, Module>,
  entries: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const fileOf = new Map<string, string>()
  for (const entry of entries) {
    const reached = new Set([entry])
    // The set grows during the loop.
    for (const path of reached) for (const next of find(modules, path).needed.values()) reached.add(next)
    for (const path of reached) fileOf.set(path, fileOf.has(path) ? SHARED : entry)
  }
  return fileOf
}

/** Returns the address relative to another file: all files are in one folder, whose path a proxy may change. */
function toSibling(address: string): string {
  return `.${address.slice(address.lastIndexOf('/'))}`
}

function find<Value>(map: ReadonlyMap<string, Value>, key: string): Value {
  const value = map.get(key)
  if (value === undefined) throw new Error(`${key} was not read`)
  return value
}
