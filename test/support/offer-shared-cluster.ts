import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestCluster } from './cluster.ts'
import type { ClusterAddresses, Offer } from './shared-cluster.ts'

/** The environment variable with the path of the socket. */
export const SHARED_CLUSTER_VARIABLE = 'MILLRACE_TEST_SHARED_CLUSTER'

/**
 * How long the unused cluster waits for the next test process. An idle cluster takes a tenth of a core; starting one
 * takes nine seconds of a core.
 */
const UNUSED_MS = 20_000

/**
 * Runs in Vitest's main process, so that all test processes can share one cluster. The cluster starts when the first
 * test process connects to the socket, so that a run without such tests does not pay for it. It stops when no test
 * process has been connected for `UNUSED_MS`. Resolves with a function that stops the cluster.
 */
export async function offerSharedCluster(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'shared-cluster.sock')
  const users = new Set<Socket>()
  let starting: Promise<TestCluster> | undefined
  let stopping = Promise.resolve()
  let unused: NodeJS.Timeout | undefined

  function stop(): void {
    const stopped = starting
    starting = undefined
    // Test processes have already received the error of a failed start.
    const ended = stopped?.then(
      (cluster) => cluster.stop(),
      () => undefined,
    )
    stopping = Promise.all([stopping, ended]).then(() => undefined)
  }

  const server = createServer((socket) => {
    clearTimeout(unused)
    users.add(socket)
    socket.on('error', () => {
      // The test process ended before it received its answer.
    })
    socket.on('close', () => {
      users.delete(socket)
      if (users.size === 0) unused = setTimeout(stop, UNUSED_MS)
    })
    // The socket must be read, or the end of the other side would not be noticed.
    socket.resume()
    starting ??= stopping.then(startSharedCluster)
    void toOffer(starting).then((offer) => socket.write(`${JSON.stringify(offer)}\n`))
  })
  server.listen(path)
  await once(server, 'listening')
  process.env[SHARED_CLUSTER_VARIABLE] = path
  return async () => {
    server.close()
    for (const user of users) user.destroy()
    clearTimeout(unused)
    stop()
    await stopping
  }
}

async function startSharedCluster(): Promise<TestCluster> {
  // The modules are imported here, because most runs need none of them.
  const [{ startCluster }, { SHARED_ENGINES, writeSharedCatalogs }] = await Promise.all([
    import('./cluster.ts'),
    import('./shared-models.ts'),
  ])
  const cluster = await startCluster({
    gateways: 2,
    workers: [[...SHARED_ENGINES]],
    billingEnv: { CATALOG_FILE: writeSharedCatalogs() },
  })
  await cluster.addGateway({ DRAIN_BOUND_MS: '0', ASSUMED_GENERATION_MS: '500', CREDIT_WAIT_MS: '1000' })
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
