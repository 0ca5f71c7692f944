import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../../support/run-folder.ts'

export type Ended = { code: number; stdout: string; stderr: string }

let compileCache: string | undefined

/** Runs the operators' command line as a process of its own, with only `env` and the basics in its environment. */
export async function millrace(
  words: readonly string[],
  env: Record<string, string> = {},
  checkout = REPOSITORY,
): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  // Dozens of processes compile the same files.
  compileCache ??= scratchFolder('compile-cache')
  const surroundings = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: compileCache,
    MILLRACE_HOME: scratchFolder('no-cluster'),
  }
  const child = execFile(
    process.execPath,
    [join(checkout, 'scripts/millrace.mjs'), ...words],
    {
      cwd: checkout,
      env: { ...surroundings, ...env },
    },
    (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
  )
  return await promise
}
