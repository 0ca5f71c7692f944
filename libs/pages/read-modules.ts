import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { readSpecifiers, stripTypes } from './rewrite-module.ts'

export type Module = {
  readonly path: string
  /** The text as JavaScript. */
  readonly text: string
  /** The paths of the modules that must run before this one, by specifier. */
  readonly needed: ReadonlyMap<string, string>
  /** The paths of the modules that this one loads later, by specifier. */
  readonly later: ReadonlyMap<string, string>
}

/**
 * Returns the modules of `roots` and everything that they import, by path. Each module comes after the modules that it
 * needs. Throws for a missing file, an import that `resolve` refuses, and a circle.
 */
export async function readModules(
  roots: readonly string[],
  resolve: (importer: string, specifier: string) => string,
): Promise<ReadonlyMap<string, Module>> {
  const modules = new Map<string, Module>()
  const open = new Set<string>()
  const later = new Set<string>(roots)

  async function add(path: string): Promise<void> {
    if (modules.has(path)) return
    if (open.has(path)) throw new Error(`${path} imports itself through other modules`)
    open.add(path)
    // Each module waits for a turn of the event loop, so that reading a whole page does not block a server that is
    // already serving.
    await setImmediate()
    const text = stripTypes(path, readFileSync(path, 'utf8'))
    const specifiers = readSpecifiers(text)
    const toPaths = (names: readonly string[]) => new Map(names.map((name) => [name, resolve(path, name)]))
    const module = { path, text, needed: toPaths(specifiers.needed), later: toPaths(specifiers.later) }
    for (const each of module.needed.values()) await add(each)
    for (const each of module.later.values()) later.add(each)
    modules.set(path, module)
  }

  // The set grows during the loop.
  for (const path of later) await add(path)
  return modules
}
