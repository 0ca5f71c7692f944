import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestCluster } from './cluster.ts'
import type { ClusterAddresses, Offer } from './shared-cluster.ts'

/** Of the environment of test processes: the path of the socket. */
export const SHARED_CLUSTER_VARIABLE = 'MILLRACE_TEST_SHARED_CLUSTER'

/** How long the cluster waits for the next test process: idle it takes a tenth of a core, to start it nine seconds of one. */
const UNUSED_MS = 20_000

/**
 * Runs in Vitest's main process, so that the processes of all tests can share one cluster. It runs from the first test
 * process that connects to the socket until none is connected any more, so that tests of other kinds do not pay for it.
 * Resolves with a function that stops it.
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
    // Test processes have received the error of a failed start.
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
      // A test process that ended before its answer.
    })
    socket.on('close', () => {
      users.delete(socket)
      if (users.size === 0) unused = setTimeout(stop, UNUSED_MS)
    })
    // Without a reader it would not be noticed that the other side has closed.
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
