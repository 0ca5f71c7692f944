import type { TestAccount } from './cluster.ts'
import { test as clusterTest } from './cluster-test.ts'
import { createRecordingFetch, type Exchange } from './recording-fetch.ts'
import type { SharedCluster } from './shared-cluster.ts'

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
 * The `test` function for the tests of client libraries. They run on the shared cluster. Each file has its own account,
 * and each test its own `fetch`. `access` leads to a gateway that lets requests wait, and `hasty` to the gateway that
 * refuses a request at once if no slot is free. Only a test that wants this refusal uses `hasty`: on a machine that
 * stands still for a moment the requests of other files take all slots, and `hasty` then refuses any request.
 */
export const test = clusterTest
  .extend('access', ({ cluster, account }): ClientAccess => accessTo(cluster, account))
  .extend('hasty', ({ cluster, account }): ClientAccess =>
    accessTo({ ...cluster, baseUrl: cluster.hastyGateway.baseUrl }, account),
  )

function accessTo(cluster: SharedCluster, account: TestAccount): ClientAccess {
  const { fetch, exchanges } = createRecordingFetch()
  return { cluster, account, baseUrl: cluster.baseUrl, apiKey: account.apiKey, fetch, exchanges }
}
