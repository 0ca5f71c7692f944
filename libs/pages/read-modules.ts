import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { readSpecifiers, stripTypes } from './rewrite-module.ts'

export type Module = {
  readonly path: string
  /** JavaScript. */
  readonly text: string
  /** By specifier, the paths of the modules that are needed before this one runs. */
  readonly needed: ReadonlyMap<string, string>
  /** By specifier, those that it fetches when it asks for them. */
  readonly later: ReadonlyMap<string, string>
}

/**
 * The modules of `roots` and all that they import, by path, each behind those that it needs. Throws for a file that is
 * missing, for what `resolve` refuses, and for a circle.
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
    // After a turn of the event loop: a server that serves others meanwhile is not held up by a whole page.
    await setImmediate()
    const text = stripTypes(path, readFileSync(path, 'utf8'))
    const specifiers = readSpecifiers(text)
    const toPaths = (names: readonly string[]) => new Map(names.map((name) => [name, resolve(path, name)]))
    const module = { path, text, needed: toPaths(specifiers.needed), later: toPaths(specifiers.later) }
    for (const each of module.needed.values()) await add(each)
    for (const each of module.later.values()) later.add(each)
    modules.set(path, module)
  }

  // Grows while it is read.
  for (const path of later) await add(path)
  return modules
}
