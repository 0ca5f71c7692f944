import { CommandError } from './command-error.ts'
import type { CtlConfig } from './config.ts'
import { openLocalCluster } from './local-cluster.ts'

/**
 * The address of the console, without a slash at its end: that of the environment, else of the cluster of a running
 * `npm start`. Throws a CommandError where there is neither, or the environment is wrong.
 */
export function findConsole(config: CtlConfig): string {
  const given = config.MILLRACE_CONSOLE_URL
  if (given !== undefined) {
    if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)) return new URL(given).origin
    throw new CommandError(
      'usage',
      'MILLRACE_CONSOLE_URL is wrong: expected a URL such as https://console.example.org.',
    )
  }
  const local = openLocalCluster(config)
  const address = local.address('console')
  if (address !== undefined) return address
  throw new CommandError(
    'usage',
    `No console of an npm start runs in ${local.home}: give its address with MILLRACE_CONSOLE_URL.`,
  )
}
