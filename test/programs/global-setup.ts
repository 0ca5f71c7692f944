import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { createSay, sayWhile } from '#scripts/servers/say.ts'
import { TOOLS } from '../support/local-servers.ts'
import { programsFolder } from '../support/programs.ts'

const run = promisify(execFile)

const FILES = ['test/programs/packages/package.json', 'test/programs/packages/package-lock.json', '.npmrc']

/**
 * Installs the agent programs of test/programs into the tools folder, unless the versions of its lock file are there.
 * Throws with npm's output if it fails.
 */
export async function setup(): Promise<void> {
  const folder = programsFolder()
  if (existsSync(folder)) return
  mkdirSync(TOOLS, { recursive: true })
  const unfinished = mkdtempSync(join(TOOLS, 'programs-'))
  for (const file of FILES) copyFileSync(file, join(unfinished, basename(file)))
  const say = createSay(performance.now())
  try {
    await sayWhile(say, 'installing the agent programs that are tested (one gigabyte)', async () => {
      // Not `npm ci`: it demands that the lock file has the packages of all platforms.
      await run('npm', ['install', '--no-save', '--loglevel=error', '--no-progress'], { cwd: unfinished })
    })
    renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
