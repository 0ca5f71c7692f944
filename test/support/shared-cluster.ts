import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { createAdminClient, type AdminClient } from '#libs/admin-contract/admin-client.ts'
import { ADMIN_TOKEN, createAccountCalls, sumMetric, type AccountCalls } from './cluster.ts'
import { SHARED_CLUSTER_VARIABLE } from './offer-shared-cluster.ts'

const App = z.strictObject({ opsUrl: z.string() })
const Gateway = App.extend({ baseUrl: z.string() })

export const ClusterAddresses = z.strictObject({
  adminUrl: z.string(),
  billingAddress: z.string(),
  databaseUrl: z.string(),
  /** The URL of the queue and the bus. */
  redisUrl: z.string(),
  billing: App,
  simulator: App,
  worker: App,
  /** Two gateways with the same settings. */
  gateways: z.tuple([Gateway, Gateway]),
  /** A third gateway, which refuses at once if a model has no free slot. */
  hastyGateway: Gateway,
})
export type ClusterAddresses = z.infer<typeof ClusterAddresses>

export const Offer = z.union([
  z.strictObject({ addresses: ClusterAddresses }),
  z.strictObject({ error: z.string() }),
])
export type Offer = z.infer<typeof Offer>

/**
 * The one cluster of a run of the tests, for all test files that only call its interfaces. It has the models of
 * `shared-models.ts`. Each file has its own accounts, and must not compare counters that the requests of other files
 * increase.
 */
export type SharedCluster = AccountCalls &
  ClusterAddresses & {
    admin: AdminClient
    /** The base URL of the first gateway. */
    baseUrl: string
    /** Returns the sum of a metric over its labels. */
    metric(app: { opsUrl: string }, name: string, labels?: Record<string, string>): Promise<number>
  }

let asked: Promise<SharedCluster> | undefined

/**
 * Resolves when the cluster runs. When all test processes that have called this function have ended, the cluster stops
 * after 20 s (`offerSharedCluster`).
 */
export async function sharedCluster(): Promise<SharedCluster> {
  // The first call starts the cluster; a failed start is not repeated.
  asked ??= ask()
  return await asked
}

async function ask(): Promise<SharedCluster> {
  const path = process.env[SHARED_CLUSTER_VARIABLE]
  if (path === undefined)
    throw new Error(`${SHARED_CLUSTER_VARIABLE} is not set: this test's project has no global set-up`)
  const offer = Offer.parse(JSON.parse(await readLine(path)))
  if ('error' in offer) throw new Error(`the shared cluster did not start: ${offer.error}`)
  const { addresses } = offer
  const admin = createAdminClient({ url: addresses.adminUrl, token: ADMIN_TOKEN })
  return {
    ...addresses,
    ...createAccountCalls(admin),
    admin,
    baseUrl: addresses.gateways[0].baseUrl,
    async metric({ opsUrl }, name, labels = {}) {
      return sumMetric(await (await fetch(`${opsUrl}/metrics`)).text(), name, labels)
    },
  }
}

/**
 * Reads the cluster's description. The connection stays open until this process ends, as a sign that the cluster is in
 * use.
 */
async function readLine(path: string): Promise<string> {
  const socket = createConnection(path)
  for await (const line of createInterface({ input: socket })) {
    socket.unref()
    return line
  }
  throw new Error('the shared cluster was stopped')
}
