import type { Module } from './read-modules.ts'
import { toExpression } from './rewrite-module.ts'

/** The name of the file with what several others need. */
const SHARED = 'shared'

type Joined = {
  /** The address of the file with this module, a root or one that is fetched later. */
  addressOf(path: string): string
  /** The files that must be there before the code of this root runs, without its own. */
  neededBy(path: string): ReadonlySet<string>
}

/**
 * Puts modules into few files, because each file costs a request and compresses by itself: one for each root and for
 * each module that is fetched later, with what only it needs, and one with all that several of them need. `addFile`
 * keeps a file and gives its address. `modules` are ordered as readModules has them. Throws when a shared module fetches
 * a file that needs the shared one: an address contains the hash of its body, so neither could be first.
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
    // Grows while it is read.
    for (const path of reached) for (const next of find(modules, path).needed.values()) reached.add(next)
    for (const path of reached) fileOf.set(path, fileOf.has(path) ? SHARED : entry)
  }
  return fileOf
}

/** All files are in one folder, wherever a proxy has put it. */
function toSibling(address: string): string {
  return `.${address.slice(address.lastIndexOf('/'))}`
}

function find<Value>(map: ReadonlyMap<string, Value>, key: string): Value {
  const value = map.get(key)
  if (value === undefined) throw new Error(`${key} was not read`)
  return value
}
