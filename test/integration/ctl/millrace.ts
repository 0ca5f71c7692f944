import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { CtlConfig } from '#apps/ctl/config.ts'
import { runCommand } from '#apps/ctl/run-command.ts'
import { loadConfig } from '#libs/config/load-config.ts'
import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../../support/run-folder.ts'

export type Ended = { code: number; stdout: string; stderr: string }

/**
 * Runs a command of the operators' command line in this process, like its `main.ts` does. Only `env` configures it.
 * `spawnMillrace` runs a separate process.
 */
export async function millrace(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const ended = { stdout: '', stderr: '' }
  const code = await runCommand(words, loadConfig(CtlConfig, { ...withoutCluster(), ...env }), {
    async write(text) {
      ended.stdout += text
    },
    note: (line) => void (ended.stderr += `${line}\n`),
  })
  return { code, ...ended }
}

/** Runs the operators' command line as a process of its own, with only `env` and the basics in its environment. */
export async function spawnMillrace(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  checkout = REPOSITORY,
): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const basics = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE }
  const child = execFile(
    process.execPath,
    [join(checkout, 'scripts/millrace.mjs'), ...words],
    { cwd: checkout, env: { ...basics, ...withoutCluster(), ...env } },
    (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
  )
  return await promise
}

/**
 * Names the state folder of an `npm start` that never ran, so that a command does not find a cluster of this machine.
 */
function withoutCluster(): Record<string, string> {
  return { MILLRACE_HOME: scratchFolder('no-cluster') }
}
