import { CommandError } from './command-error.ts'
import type { CtlConfig } from './config.ts'
import { openLocalCluster } from './local-cluster.ts'

/**
 * Returns the addresses of the console, without a slash at the end: from the environment, else from the cluster of a
 * running `npm start`, which has a separate address for browsers. Throws a CommandError if neither is known, or if the
 * environment is wrong.
 */
export function findConsole(config: CtlConfig): { readonly browsers: string; readonly programs: string } {
  const given = config.MILLRACE_CONSOLE_URL
  if (given !== undefined) {
    if (URL.canParse(given) && /^https?:$/.test(new URL(given).protocol)) {
      const { origin } = new URL(given)
      return { browsers: origin, programs: origin }
    }
    throw new CommandError(
      'usage',
      'MILLRACE_CONSOLE_URL is wrong: expected a URL such as https://console.example.org.',
    )
  }
  const local = openLocalCluster(config)
  const [browsers, programs] = [local.address('console'), local.address('consolePrograms')]
  if (browsers !== undefined && programs !== undefined) return { browsers, programs }
  throw new CommandError(
    'usage',
    `No console of an npm start runs in ${local.home}: give its address with MILLRACE_CONSOLE_URL.`,
  )
}
