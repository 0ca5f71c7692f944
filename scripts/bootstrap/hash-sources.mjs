import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REPOSITORY } from './repository.mjs'

/**
 * Returns one hash of the names and contents of all files in these folders of the repository, and of the files at its
 * root.
 */
export function hashSources(folders) {
  const hash = createHash('sha256')
  const root = readdirSync(REPOSITORY, { withFileTypes: true }).filter((entry) => entry.isFile())
  const files = [
    ...root.map(({ name }) => name),
    ...folders.flatMap((folder) =>
      readdirSync(join(REPOSITORY, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(REPOSITORY.length)),
    ),
  ]
  files.sort((left, right) => (left < right ? -1 : 1))
  for (const file of files) {
    const content = readFileSync(join(REPOSITORY, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
