// Runs once in Vitest's main process before the first test that needs servers. Test processes inherit the environment,
// which contains the servers' URLs. A second project of the same run finds the URLs in the environment.
import { rmSync } from 'node:fs'
import { offerSharedCluster } from './offer-shared-cluster.ts'
import { makeRunFolder, RUN_FOLDER_VARIABLE } from './run-folder.ts'
import { POSTGRES_URL_VARIABLE, REDIS_URL_VARIABLE, startSharedServers } from './shared-servers.ts'

let release: (() => Promise<void>) | undefined

export async function setup(): Promise<void> {
  if (process.env[RUN_FOLDER_VARIABLE] !== undefined) return
  const folder = makeRunFolder()
  process.env[RUN_FOLDER_VARIABLE] = folder
  release = async () => rmSync(folder, { recursive: true, force: true })
  const servers = await startSharedServers()
  process.env[REDIS_URL_VARIABLE] = servers.redisUrl
  process.env[POSTGRES_URL_VARIABLE] = servers.postgresUrl
  const stopSharedCluster = await offerSharedCluster(folder)
  release = async () => {
    await stopSharedCluster()
    await servers.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Vitest calls this function for each project. The first call stops the servers. */
export async function teardown(): Promise<void> {
  const releaseOnce = release
  release = undefined
  await releaseOnce?.()
}
