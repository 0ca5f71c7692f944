// Starts the servers that tests share, in Vitest's main process, and writes their URLs to the environment. Test
// processes inherit the environment. Vitest calls `setup` for each project that needs servers; the first call starts
// them, and a later call finds the run's folder in the environment and does nothing.
import { offerSharedCluster } from './offer-shared-cluster.ts'
import { makeRunFolder, removeRunFolder, RUN_FOLDER_VARIABLE } from './run-folder.ts'
import { POSTGRES_URL_VARIABLE, REDIS_URL_VARIABLE, startSharedServers } from './shared-servers.ts'

let release: (() => Promise<void>) | undefined

export async function setup(): Promise<void> {
  if (process.env[RUN_FOLDER_VARIABLE] !== undefined) return
  const folder = makeRunFolder()
  process.env[RUN_FOLDER_VARIABLE] = folder
  release = async () => removeRunFolder(folder)
  const servers = await startSharedServers()
  process.env[REDIS_URL_VARIABLE] = servers.redisUrl
  process.env[POSTGRES_URL_VARIABLE] = servers.postgresUrl
  const stopSharedCluster = await offerSharedCluster(folder)
  release = async () => {
    await stopSharedCluster()
    await servers.stop()
    removeRunFolder(folder)
  }
}

/** Vitest calls this function for each project. The first call stops the servers. */
export async function teardown(): Promise<void> {
  const releaseOnce = release
  release = undefined
  await releaseOnce?.()
}
