import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

export type SourceFile = { path: string; text: string }

/**
 * Returns the files of this repository that match `pattern`. Throws if none does, because a check of no file proves
 * nothing.
 */
export function sourceFiles(pattern: string): SourceFile[] {
  const paths = globSync(pattern, { cwd: REPOSITORY }).toSorted()
  if (paths.length === 0) throw new Error(`no file matches ${pattern}`)
  return paths.map((path) => ({ path, text: readFileSync(`${REPOSITORY}/${path}`, 'utf8') }))
}
