import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../../support/run-folder.ts'

export type Ended = { code: number; stdout: string; stderr: string }

/** Runs the operators' command line as a process of its own, with nothing in its environment but `env`. */
export async function millrace(words: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const child = execFile(
    process.execPath,
    [join(REPOSITORY, 'scripts/millrace.mjs'), ...words],
    {
      cwd: REPOSITORY,
      env: { PATH: process.env['PATH'], MILLRACE_HOME: scratchFolder('no-cluster'), ...env },
    },
    (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
  )
  return await promise
}
