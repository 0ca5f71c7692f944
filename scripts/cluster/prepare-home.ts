import { accessSync, constants, existsSync, mkdirSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SetupError } from '../servers/setup-error.ts'

const FOLDERS = ['logs', 'redis', 'postgres', 'tools'] as const
const FILES = ['cluster.json', 'secrets.json', 'account.json', 'client.env']
const NEEDED_BYTES = 300 * 1024 * 1024

/**
 * Makes the state folder and its subfolders, or checks that they are ours to use. Throws a SetupError for a
 * folder of somebody else's, one that cannot be written, and a full disk.
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
  const known = new Set<string>([...FOLDERS, ...FILES])
  const strange = readdirSync(home).filter((name) => !known.has(name) && !name.startsWith('.'))
  if (strange.length > 0) {
    throw new SetupError(
      `The state folder ${home} holds other files (${strange.slice(0, 3).join(', ')}); set MILLRACE_HOME to an empty or a new folder.`,
    )
  }
  const free = statfsSync(home)
  if (free.bavail * free.bsize < NEEDED_BYTES) {
    const megabytes = Math.floor((free.bavail * free.bsize) / 1024 / 1024)
    throw new SetupError(`The disk of ${home} has only ${megabytes} MB free; Millrace needs 300 MB.`)
  }
  for (const folder of FOLDERS) makeFolder(join(home, folder))
}

/**
 * Makes a folder and what is missing above it, one at a time: mkdir's own recursion never ends on file systems
 * that say ENOENT to a new name, such as /proc. 0711: PostgreSQL's own user passes through to its data, and
 * nobody else can list what is here.
 */
function makeFolders(path: string): void {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  mkdirSync(path, { mode: 0o711 })
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: path.endsWith('postgres') ? 0o711 : 0o700 })
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
