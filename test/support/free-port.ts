import { freePort as findFreePort } from '#scripts/servers/free-port.ts'

/** Returns a loopback port that is free now and that this test file has not received before. */
export async function freePort(): Promise<number> {
  return await findFreePort()
}
