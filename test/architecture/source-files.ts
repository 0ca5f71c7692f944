import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

export type SourceFile = { path: string; text: string }

/** The files of this repository that match `pattern`. Throws when there are none: a check of nothing proves nothing. */
export function sourceFiles(pattern: string): SourceFile[] {
  const paths = globSync(pattern, { cwd: REPOSITORY }).toSorted()
  if (paths.length === 0) throw new Error(`no file matches ${pattern}`)
  return paths.map((path) => ({ path, text: readFileSync(`${REPOSITORY}/${path}`, 'utf8') }))
}
