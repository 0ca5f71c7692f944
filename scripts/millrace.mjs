#!/usr/bin/env node
// `npx millrace …`: the operators' command line. Runs on Node 20, and hands over to apps/ctl/ on the Node that came
// with the dependencies, in the folder of the caller: its arguments may name files.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { NODE, REPOSITORY } from './bootstrap/dependencies.mjs'
import { runScript, SetupError } from './bootstrap/fail.mjs'

await runScript(async () => {
  if (!existsSync(NODE)) {
    throw new SetupError(
      `The dependencies of ${REPOSITORY} are not installed: run npm ci or npm start there.`,
    )
  }
  const child = spawn(NODE, [join(REPOSITORY, 'apps/ctl/main.ts'), ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  // A Ctrl-C reaches the child as well; we stay to report how it ended.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  return await new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new SetupError(`Cannot run ${NODE}: ${error.message}`)))
    child.once('exit', (code) => resolve(code ?? 1))
  })
})
