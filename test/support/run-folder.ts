import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const RUN_FOLDER_VARIABLE = 'MILLRACE_TEST_FOLDER'

/** Makes the folder of one test run. Other users may pass through it, because PostgreSQL does not run as root. */
export function makeRunFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'))
  chmodSync(folder, 0o711)
  return folder
}

/** Makes a new folder inside the run's folder, which is removed when the run ends. */
export function scratchFolder(name: string): string {
  const folder = mkdtempSync(join(runFolder(), `${name}-`))
  chmodSync(folder, 0o711)
  return folder
}

/** Returns the path of a new log file inside the run's folder. */
export function scratchLog(name: string): string {
  return join(scratchFolder(name), `${name}.log`)
}

/** Returns the folder of this run, which all its processes share. */
export function runFolder(): string {
  const folder = process.env[RUN_FOLDER_VARIABLE]
  if (folder === undefined)
    throw new Error(`${RUN_FOLDER_VARIABLE} is not set: this test's project has no global set-up`)
  mkdirSync(folder, { recursive: true })
  return folder
}
