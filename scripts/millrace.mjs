#!/usr/bin/env node
// `npx millrace …`: the operators' command line. This script runs on Node 20 and starts apps/ctl/ on the Node of the
// dependencies. The working folder stays the caller's, because arguments may name files.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { NODE, REPOSITORY } from './bootstrap/repository.mjs'

/** The exit codes of apps/ctl/: 2 if nothing was sent to billing, 3 if it is unknown whether a change was made. */
const EXIT_USAGE = 2
const EXIT_UNKNOWN = 3

const main = join(REPOSITORY, 'apps/ctl/main.ts')
const child = spawn(NODE, [main, ...process.argv.slice(2)], { stdio: 'inherit' })
// A Ctrl-C reaches the child as well. This process stays to return the child's exit code.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.once('exit', (code) => (process.exitCode = code ?? EXIT_UNKNOWN))
child.once('error', ({ code }) => {
  console.error(
    code === 'ENOENT'
      ? `The dependencies of ${REPOSITORY} are not installed: run npm ci or npm start there.`
      : `${NODE} does not run (${code}): run npm ci or npm start in ${REPOSITORY}.`,
  )
  process.exitCode = EXIT_USAGE
})
