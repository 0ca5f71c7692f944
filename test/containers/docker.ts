import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { z } from 'zod'
import { REPOSITORY } from '#scripts/servers/start-app.ts'

const run = promisify(execFile)

/** The name of the Compose project and of its image; scripts/test-containers.mjs sets it. */
const PROJECT_VARIABLE = 'MILLRACE_TEST_PROJECT'
/** The ports of the gateway and of the console on loopback; the global set-up chooses free ones. */
export const PORT_VARIABLE = 'MILLRACE_TEST_PORT'
export const CONSOLE_PORT_VARIABLE = 'MILLRACE_TEST_CONSOLE_PORT'

const LIMIT_MS = 300_000

/** Runs `docker`; resolves with its standard output. Rejects with its standard error, and after `limitMs`. */
export async function docker(args: readonly string[], limitMs = LIMIT_MS): Promise<string> {
  const { stdout } = await run('docker', args, { cwd: REPOSITORY, env: environment(), timeout: limitMs })
  return stdout
}

/** Runs `docker compose` with deploy/compose.yaml; otherwise like `docker`. */
export async function compose(args: readonly string[], limitMs = LIMIT_MS): Promise<string> {
  return await docker(
    ['compose', '--file', 'deploy/compose.yaml', '--project-name', setting(PROJECT_VARIABLE), ...args],
    limitMs,
  )
}

/** The name of the image that deploy/compose.yaml builds. */
export const image = () => setting(PROJECT_VARIABLE)

/** Returns the address of the gateway's public interface. */
export const baseUrl = () => `http://127.0.0.1:${setting(PORT_VARIABLE)}/v1`

/** Returns the address of the console. */
export const consoleUrl = () => `http://127.0.0.1:${setting(CONSOLE_PORT_VARIABLE)}`

const ServiceState = z.object({ Service: z.string(), State: z.string(), ExitCode: z.number() })

/** Returns the state of every service's container, including containers that have ended. */
export async function serviceStates(): Promise<z.infer<typeof ServiceState>[]> {
  const lines = (await compose(['ps', '--all', '--format', 'json'])).trim().split('\n')
  return lines.map((line) => ServiceState.parse(JSON.parse(line)))
}

function environment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    MILLRACE_IMAGE: image(),
    MILLRACE_PORT: setting(PORT_VARIABLE),
    MILLRACE_CONSOLE_PORT: setting(CONSOLE_PORT_VARIABLE),
    // Unencoded, this password would break a database URL.
    MILLRACE_POSTGRES_PASSWORD: 'p@ss:w/or#d?%41',
  }
}

function setting(variable: string): string {
  const value = process.env[variable]
  if (value === undefined) throw new Error(`${variable} is not set: run it by npm run test:containers`)
  return value
}
