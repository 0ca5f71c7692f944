import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The full path of a command on the PATH. */
export function findExecutable(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
