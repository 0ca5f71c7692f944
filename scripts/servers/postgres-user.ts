import { execFileSync } from 'node:child_process'
import type { ProcessUser } from './start-process.ts'

/**
 * Returns the user that PostgreSQL runs as: undefined for the current user; `postgres` or `nobody` if the current user
 * is root, which PostgreSQL refuses.
 */
export function postgresUser(): ProcessUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const user = lookUp('postgres') ?? lookUp('nobody')
  if (user === undefined)
    throw new Error('PostgreSQL refuses root, and there is neither a user postgres nor nobody')
  return user
}

function lookUp(name: string): ProcessUser | undefined {
  const id = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }))
  try {
    return { uid: id('-u'), gid: id('-g') }
  } catch {
    return undefined
  }
}

/** Returns true if `user` may use `path`. `flag` is passed to test(1): -x to run or enter the path, -r to read it. */
export function canUse(user: ProcessUser | undefined, flag: '-x' | '-r', path: string): boolean {
  try {
    execFileSync('test', [flag, path], { cwd: '/', stdio: 'ignore', ...user })
    return true
  } catch {
    return false
  }
}
