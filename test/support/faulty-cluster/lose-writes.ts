import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** A position in a Redis server's append-only file: its end at some moment. */
export type WriteMark = { readonly file: string; readonly bytes: number }

/** Returns the present end of the append-only file of the server with this data folder. */
export function markWrites(folder: string): WriteMark {
  const files = join(folder, 'appendonlydir')
  // The numbers in the names rise with each rewrite. Only the last file is still written.
  const [last] = readdirSync(files)
    .filter((name) => name.endsWith('.incr.aof'))
    .toSorted((a, b) => toNumber(b) - toNumber(a))
  if (last === undefined) throw new Error(`${files} has no append-only file`)
  const file = join(files, last)
  return { file, bytes: statSync(file).size }
}

/**
 * Removes all writes since the mark from the append-only file, as if the disk or the replica had never received them.
 * The server must have ended.
 */
export function dropWritesSince({ file, bytes }: WriteMark): void {
  truncateSync(file, bytes)
}

const toNumber = (name: string) => Number(/\.(\d+)\.incr\.aof$/u.exec(name)?.[1] ?? 0)
