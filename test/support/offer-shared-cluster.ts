import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TestCluster } from './cluster.ts'
import type { ClusterAddresses, Offer } from './shared-cluster.ts'

/** Of the environment of test processes: the path of the socket. */
export const SHARED_CLUSTER_VARIABLE = 'MILLRACE_TEST_SHARED_CLUSTER'

/**
 * Runs in Vitest's main process, so that the processes of all tests can share one cluster. It starts with the first test
 * process that connects to the socket, so that other runs do not pay for it. Resolves with a function that stops it.
 */
export async function offerSharedCluster(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'shared-cluster.sock')
  let starting: Promise<TestCluster> | undefined
  const server = createServer((socket) => {
    socket.on('error', () => {
      // A test process that ended before its answer.
    })
    starting ??= startSharedCluster()
    void toOffer(starting).then((offer) => socket.end(JSON.stringify(offer)))
  })
  server.listen(path)
  await once(server, 'listening')
  process.env[SHARED_CLUSTER_VARIABLE] = path
  return async () => {
    server.close()
    // Test processes have received the error of a failed start.
    const cluster = await starting?.catch(() => undefined)
    await cluster?.stop()
  }
}

async function startSharedCluster(): Promise<TestCluster> {
  // Only here: most runs need none of it.
  const [{ startCluster }, { SHARED_ENGINES, writeSharedCatalogs }] = await Promise.all([
    import('./cluster.ts'),
    import('./shared-models.ts'),
  ])
  const cluster = await startCluster({
    gateways: 2,
    workers: [[...SHARED_ENGINES]],
    billingEnv: { CATALOG_FILE: writeSharedCatalogs() },
  })
  await cluster.addGateway({ DRAIN_BOUND_MS: '0', ASSUMED_GENERATION_MS: '500' })
  return cluster
}

async function toOffer(starting: Promise<TestCluster>): Promise<Offer> {
  try {
    return { addresses: addressesOf(await starting) }
  } catch (error) {
    return { error: String(error) }
  }
}

function addressesOf(cluster: TestCluster): ClusterAddresses {
  const [first, second, hasty] = cluster.gateways.map(({ baseUrl, opsUrl }) => ({ baseUrl, opsUrl }))
  const [worker] = cluster.workers
  if (!first || !second || !hasty || !worker) throw new Error('a part of the shared cluster is missing')
  return {
    adminUrl: cluster.adminUrl,
    billingAddress: cluster.billingAddress,
    databaseUrl: cluster.databaseUrl,
    redisUrl: cluster.redis.url,
    billing: { opsUrl: cluster.billing.opsUrl },
    simulator: { opsUrl: cluster.simulator.opsUrl },
    worker: { opsUrl: worker.opsUrl },
    gateways: [first, second],
    hastyGateway: hasty,
  }
}
