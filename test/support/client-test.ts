import type { TestAccount } from './cluster.ts'
import { test as clusterTest } from './cluster-test.ts'
import { createRecordingFetch, type Exchange } from './recording-fetch.ts'
import { sharedCluster, type SharedCluster } from './shared-cluster.ts'

/** The access of a client to the cluster. `fetch` records its exchanges and refuses other hosts. */
export type ClientAccess = {
  readonly cluster: SharedCluster
  readonly account: TestAccount
  readonly baseUrl: string
  readonly apiKey: string
  readonly fetch: typeof fetch
  readonly exchanges: readonly Exchange[]
}

/** The demo models repeat it in hundreds of steps, so its answer comes in pieces even where a process stands still. */
export const LONG_TEXT = 'Piece by piece, please. '.repeat(60).trim()

/**
 * The `test` function for the tests of client libraries. They run on the shared cluster, through `hastyGateway`, the
 * gateway that refuses requests at once if no slot is free. Each file has its own account, and each test its own
 * `fetch`.
 */
export const test = clusterTest
  .extend('cluster', { scope: 'worker' }, async () => {
    const cluster = await sharedCluster()
    return { ...cluster, baseUrl: cluster.hastyGateway.baseUrl }
  })
  .extend('access', ({ cluster, account }): ClientAccess => {
    const { fetch, exchanges } = createRecordingFetch()
    return { cluster, account, baseUrl: cluster.baseUrl, apiKey: account.apiKey, fetch, exchanges }
  })
