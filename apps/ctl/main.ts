// The operators' command line, a client of billing's admin interface. scripts/millrace.mjs starts it.
import { once } from 'node:events'
import { ConfigError, loadConfig } from '#libs/config/load-config.ts'
import { EXIT_CODES } from './command-error.ts'
import { CtlConfig } from './config.ts'
import { runCommand } from './run-command.ts'

process.stdout.on('error', (error) => {
  // The reader of the output may close it early, as `head` does.
  if ('code' in error && error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`The output cannot be written: ${error.message}\n`)
  // The change may have been made before the output failed, so the exit code says that the outcome is unknown.
  process.exit(EXIT_CODES.unreachable)
})

// Its reader may be gone as well, as with `2>&1 | head`.
process.stderr.on('error', () => undefined)

process.exitCode = await runCommand(process.argv.slice(2), readConfig(), {
  async write(text) {
    if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
  },
  note: (line) => void process.stderr.write(`${line}\n`),
})

function readConfig(): CtlConfig {
  try {
    return loadConfig(CtlConfig, process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exit(EXIT_CODES.usage)
  }
}
