import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { splitLines } from '../follow-export.ts'

/**
 * Writes lines to a gzip file. The file gets its name only once it is complete and on the disk, so a file with this
 * name is never cut off. A file from an earlier call is replaced.
 */
export async function writeLines(path: string, chunks: AsyncIterable<string>): Promise<void> {
  const draft = `${path}.part`
  await pipeline(
    async function* () {
      for await (const lines of splitLines(chunks)) yield Buffer.from(lines.join(''))
    },
    createGzip(),
    // `flush` writes the file to the disk before it is closed.
    createWriteStream(draft, { flush: true }),
  )
  await place(draft, path)
}

/** Writes a small file in the same way as `writeLines`. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.part`
  await pipeline([text], createWriteStream(draft, { flush: true }))
  await place(draft, path)
}

/**
 * Calls `each` with every line of a gzip file, including its line end. Throws for a file that is cut off or damaged.
 */
export async function readLines(path: string, each: (line: string) => void): Promise<void> {
  const gunzip = createGunzip()
  gunzip.setEncoding('utf8')
  await pipeline(createReadStream(path), gunzip, async (source: AsyncIterable<string>) => {
    for await (const lines of splitLines(source)) for (const line of lines) each(line)
  })
}

async function place(draft: string, path: string): Promise<void> {
  await rename(draft, path)
  // The folder contains the new name, so the folder must be written to the disk as well.
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
