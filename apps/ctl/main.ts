// The operators' command line: asks billing's `/admin/v1` and shows what it answers. scripts/millrace.mjs starts it.
import { once } from 'node:events'
import { loadConfig } from '#libs/config/load-config.ts'
import { EXIT_CODES } from './command-error.ts'
import { CtlConfig } from './config.ts'
import { runCommand } from './run-command.ts'

process.stdout.on('error', (error) => {
  // Whoever reads our output may have had enough, as `head` has.
  if ('code' in error && error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`The output cannot be written: ${error.message}\n`)
  // What was asked may have been done.
  process.exit(EXIT_CODES.unreachable)
})

process.exitCode = await runCommand(process.argv.slice(2), loadConfig(CtlConfig, process.env), {
  async write(text) {
    if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
  },
  tell: (line) => void process.stderr.write(`${line}\n`),
})
