import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { SetupError } from '../servers/setup-error.ts'

/** Writes a file that only this user can read, atomically. */
export function writePrivate(path: string, content: string): void {
  writeFileSync(`${path}.new`, content, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/**
 * Returns the JSON value in a file; undefined if there is no file. Throws a SetupError if the content does not match
 * the schema.
 */
export function readJson<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): z.infer<Schema> | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  const result = schema.safeParse(parse(text))
  if (!result.success)
    throw new SetupError(`${path} is damaged; restore it, or set MILLRACE_HOME to a new folder.`)
  return result.data
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
