import { findExecutable } from './find-executable.ts'

/** The path of a redis-server that runs on this machine. `say` gets a line for each long step. */
export async function ensureRedisServer(_say: (line: string) => void): Promise<string> {
  const found = findExecutable('redis-server')
  if (found === undefined) throw new Error('redis-server is not on the PATH')
  return await Promise.resolve(found)
}
