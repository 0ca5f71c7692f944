import { readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'

/** The end of a Redis server's append-only file at some moment. */
export type WriteMark = { readonly file: string; readonly bytes: number }

/** Marks what the server with this data folder has written so far. */
export function markWrites(folder: string): WriteMark {
  const files = join(folder, 'appendonlydir')
  // Numbers rise with each rewrite; only the last of these files is written.
  const [last] = readdirSync(files)
    .filter((name) => name.endsWith('.incr.aof'))
    .toSorted((a, b) => toNumber(b) - toNumber(a))
  if (last === undefined) throw new Error(`${files} has no append-only file`)
  const file = join(files, last)
  return { file, bytes: statSync(file).size }
}

/** Removes what a server that has ended wrote since, as if the disk or the replica had never received it. */
export function dropWritesSince({ file, bytes }: WriteMark): void {
  truncateSync(file, bytes)
}

const toNumber = (name: string) => Number(/\.(\d+)\.incr\.aof$/u.exec(name)?.[1] ?? 0)
