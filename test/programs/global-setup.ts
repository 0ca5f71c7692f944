import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createSay, sayWhile } from '#scripts/servers/say.ts'
import { TOOLS } from '../support/local-servers.ts'
import { programsFolder } from '../support/programs.ts'

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
  await sayWhile(say, 'installing the agent programs that are tested (one gigabyte)', async () => {
    const { status, stderr } = spawnSync('npm', ['ci', '--loglevel=error', '--no-progress'], {
      cwd: unfinished,
      encoding: 'utf8',
    })
    if (status !== 0) {
      rmSync(unfinished, { recursive: true, force: true })
      throw new Error(`npm ci failed in a copy of test/programs (exit code ${status}):\n${stderr}`)
    }
  })
  renameSync(unfinished, folder)
}
