// Builds the image once for all tests of the project. scripts/test-containers.mjs removes the image and its containers.
import { freePort } from '#scripts/servers/free-port.ts'
import { compose, CONSOLE_PORT_VARIABLE, PORT_VARIABLE } from './docker.ts'

const BUILD_LIMIT_MS = 1_800_000

export async function setup(): Promise<void> {
  process.env[PORT_VARIABLE] = String(await freePort())
  process.env[CONSOLE_PORT_VARIABLE] = String(await freePort())
  await compose(['build', '--quiet'], BUILD_LIMIT_MS)
}
