import { accessSync, constants, existsSync, mkdirSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SetupError } from '../servers/setup-error.ts'

/**
 * The subfolders and their modes. Two have the mode 0711, so that the user that PostgreSQL runs as can reach the files
 * below them.
 */
const FOLDERS = { logs: 0o700, redis: 0o700, postgres: 0o711, tools: 0o711 }
const FILES = ['cluster.json', 'secrets.json', 'account.json', 'client.env']
const NEEDED_BYTES = 300 * 1024 * 1024

/**
 * Makes the state folder `home` and its subfolders, or checks that they can be used. Throws a SetupError if the state
 * folder contains files that do not belong to a cluster, if it cannot be written, or if its disk has less than 300 MB
 * free.
 */
export function prepareHome(home: string): void {
  try {
    makeFolders(home)
  } catch (error) {
    throw new SetupError(
      `The state folder ${home} cannot be made (${codeOf(error)}); set MILLRACE_HOME to another.`,
    )
  }
  if (!statSync(home).isDirectory()) {
    throw new SetupError(`The state folder ${home} is not a folder; set MILLRACE_HOME to another.`)
  }
  if (!isWritable(home)) {
    throw new SetupError(
      `The state folder ${home} cannot be written by this user; set MILLRACE_HOME to another.`,
    )
  }
  const known = new Set([...Object.keys(FOLDERS), ...FILES])
  const strange = readdirSync(home).filter((name) => !known.has(name) && !name.startsWith('.'))
  if (strange.length > 0) {
    throw new SetupError(
      `The state folder ${home} contains other files (${strange.slice(0, 3).join(', ')}); set MILLRACE_HOME to an empty or a new folder.`,
    )
  }
  const free = statfsSync(home)
  if (free.bavail * free.bsize < NEEDED_BYTES) {
    const megabytes = Math.floor((free.bavail * free.bsize) / 1024 / 1024)
    throw new SetupError(`The disk of ${home} has only ${megabytes} MB free; Millrace needs 300 MB.`)
  }
  for (const [folder, mode] of Object.entries(FOLDERS)) makeFolder(join(home, folder), mode)
}

/**
 * Makes a folder and the missing folders above it, one at a time, because mkdir's own recursion never ends on file
 * systems that return ENOENT for a new name, such as /proc. With mode 0711 the user that PostgreSQL runs as can reach
 * PostgreSQL's data, and no other user can list the folder.
 */
function makeFolders(path: string): void {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  mkdirSync(path, { mode: 0o711 })
}

function makeFolder(path: string, mode: number): void {
  try {
    mkdirSync(path, { recursive: true, mode })
  } catch (error) {
    throw new SetupError(`${path} cannot be used (${codeOf(error)}): it must be a folder of this user.`)
  }
  if (!isWritable(path)) throw new SetupError(`${path} cannot be written by this user.`)
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
