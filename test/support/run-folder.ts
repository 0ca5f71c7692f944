import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

export const RUN_FOLDER_VARIABLE = 'MILLRACE_TEST_FOLDER'

/** Linux's file system in memory. */
const MEMORY = '/dev/shm'
/** A whole run has about 1 GiB of data at once. */
const LEAST_FREE_BYTES = 4 * 1024 ** 3

/**
 * Makes the folder of one test run, and removes folders in memory whose run was killed. Other users may pass through
 * it, because PostgreSQL does not run as root.
 */
export function makeRunFolder(): string {
  for (const name of existsSync(MEMORY) ? readdirSync(MEMORY) : []) {
    const [, pid] = /^millrace-test-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(MEMORY, name), { recursive: true })
  }
  const folder = mkdtempSync(join(tmpdir(), `millrace-test-${process.pid}-`))
  chmodSync(folder, 0o711)
  return folder
}

/** Removes the folder of a run and its data in memory. */
export function removeRunFolder(folder: string): void {
  for (const path of [folder, join(MEMORY, basename(folder))]) rmSync(path, { recursive: true, force: true })
}

/**
 * Returns the run's folder for data that need not survive: in memory if the machine has room there. ext4 needs more
 * processor time to create the files of a database than PostgreSQL does for all else, because each new file is compared
 * with the files that were deleted in the last five seconds.
 */
export function dataFolder(): string {
  const folder = hasRoom() ? join(MEMORY, basename(runFolder())) : runFolder()
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o711)
  return folder
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return Math.min(bavail * bsize, process.availableMemory()) > LEAST_FREE_BYTES
}

/** Makes a new folder inside the run's folder for data, which is removed when the run ends. */
export function scratchData(name: string): string {
  return makeFolder(dataFolder(), name)
}

/** Makes a new folder inside the run's folder, which is removed when the run ends. */
export function scratchFolder(name: string): string {
  return makeFolder(runFolder(), name)
}

function makeFolder(parent: string, name: string): string {
  const folder = mkdtempSync(join(parent, `${name}-`))
  chmodSync(folder, 0o711)
  return folder
}

/** Returns the path of a new log file inside the run's folder. */
export function scratchLog(name: string): string {
  return join(scratchFolder(name), `${name}.log`)
}

/** Returns the folder of this run, which all its processes share. */
function runFolder(): string {
  const folder = process.env[RUN_FOLDER_VARIABLE]
  if (folder === undefined)
    throw new Error(`${RUN_FOLDER_VARIABLE} is not set: this test's project has no global set-up`)
  mkdirSync(folder, { recursive: true })
  return folder
}
