import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the hash of the files on which this check last passed; undefined if it has not passed yet. */
export function readPassed(folder, name) {
  try {
    return readFileSync(fileOf(folder, name), 'utf8')
  } catch {
    return undefined
  }
}

export function writePassed(folder, name, hash) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(folder, name), hash)
}

function fileOf(folder, name) {
  return join(folder, `${name.replaceAll(' ', '-')}.sha256`)
}
