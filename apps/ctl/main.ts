// The operators' command line: asks billing's `/admin/v1` and shows what it answers. scripts/millrace.mjs starts it.
import { once } from 'node:events'
import { loadConfig } from '#libs/config/load-config.ts'
import { CtlConfig } from './config.ts'
import { runCommand } from './run-command.ts'

// Whoever reads our output may have had enough, as `head` has.
process.stdout.on('error', (error) => process.exit('code' in error && error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await runCommand(process.argv.slice(2), loadConfig(CtlConfig, process.env), {
  async write(text) {
    if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain')
  },
  tell: (line) => void process.stderr.write(`${line}\n`),
})
