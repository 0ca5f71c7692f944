import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))

/** The fields of `cluster.json` that are read here. `npm start` writes this file to its state folder while it runs. */
const ClusterFile = z.object({
  processes: z.array(z.object({ addresses: z.record(z.string(), z.string()) })),
})
const SecretsFile = z.object({ adminToken: z.string(), redisPassword: z.string() }).partial()

/** The cluster of an `npm start` on this machine, as its state folder describes it. */
export type LocalCluster = {
  readonly home: string
  /** Returns the address at which the process with this role listens; undefined while the cluster does not run. */
  address(role: 'admin' | 'redis' | 'console' | 'consolePrograms'): string | undefined
  readonly secretsPath: string
  secrets(): z.infer<typeof SecretsFile>
}

export function openLocalCluster(config: { readonly MILLRACE_HOME?: string | undefined }): LocalCluster {
  const home = config.MILLRACE_HOME ?? join(REPOSITORY, '.millrace')
  const secretsPath = join(home, 'secrets.json')
  return {
    home,
    secretsPath,
    address(role) {
      const cluster = ClusterFile.safeParse(readJson(join(home, 'cluster.json')))
      const addresses = cluster.data?.processes.map((process) => process.addresses[role])
      return addresses?.find((address) => address !== undefined)
    },
    secrets: () => SecretsFile.safeParse(readJson(secretsPath)).data ?? {},
  }
}

/** Returns undefined if the file is missing or not JSON. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
