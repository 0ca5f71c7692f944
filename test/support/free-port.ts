import { freePort as findFreePort } from '#scripts/servers/free-port.ts'

/** A loopback port that nobody listens on now and that this test file was not given before. */
export async function freePort(): Promise<number> {
  return await findFreePort()
}
