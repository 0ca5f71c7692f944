import type { Redis } from 'ioredis'
import { pino } from 'pino'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { freePort } from './free-port.ts'
import { REPLICATED, startLocalRedis } from './local-servers.ts'
import { scratchData } from './run-folder.ts'
import { until } from './until.ts'

const SLOTS = 16_384
const MASTERS = 3
const NODE_TIMEOUT_MS = 1_000

export type TestCluster = {
  place: Extract<RedisPlace, { mode: 'cluster' }>
  environment: Record<string, string>
  /**
   * Returns the index of the master that has the keys with this hash tag. `killMaster` kills the master with index 0.
   */
  masterOf(hashTag: string): Promise<number>
  /**
   * Stops replication to the first master's replica: writes that the master acknowledges from now on are lost when it
   * is killed.
   */
  detachReplica(): Promise<void>
  /** Kills the first master (kill -9); its replica becomes a master. */
  killMaster(): Promise<void>
  stop(): Promise<void>
}

/** Creates a Cluster of three masters, and a replica of the first one. A node that is silent for 1 s counts as dead. */
export async function createCluster(): Promise<TestCluster> {
  const nodes = await Promise.all(Array.from({ length: MASTERS + 1 }, startNode))
  const [first, ...others] = nodes
  const replica = nodes[MASTERS]
  if (first === undefined || replica === undefined) throw new Error('a cluster without nodes')
  for (const [index, { client }] of nodes.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
    if (index === MASTERS) continue
    // The first master gets the last slots, which include the model `demo-chat`.
    const place = MASTERS - 1 - index
    const [from, to] = [place, place + 1].map((part) => Math.round((SLOTS * part) / MASTERS))
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(Number(to) - 1))
  }
  for (const { port, busPort } of others) {
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort))
  }
  const states = async () => await Promise.all(nodes.map(async ({ client }) => await client.cluster('INFO')))
  await until(async () =>
    (await states()).every((text) => text.includes(`cluster_known_nodes:${nodes.length}`)),
  )
  const firstId = String(await first.client.call('CLUSTER', 'MYID'))
  await until(
    async () =>
      await replica.client.call('CLUSTER', 'REPLICATE', firstId).then(
        () => true,
        () => false,
      ),
  )
  await until(async () => (await replica.client.info('replication')).includes('master_link_status:up'))
  await until(async () => (await states()).every((text) => text.includes('cluster_state:ok')))
  for (const { client } of nodes) client.disconnect()
  const place = {
    mode: 'cluster',
    urls: [first.server.url, ...others.map(({ server }) => server.url)],
  } as const
  return {
    place,
    environment: { QUEUE_REDIS_MODE: place.mode, QUEUE_REDIS_URL: place.urls.join(',') },
    async masterOf(hashTag) {
      const redis = open(others[0]?.server.url ?? '')
      const slot = await redis.cluster('KEYSLOT', `{${hashTag}}`)
      redis.disconnect()
      return MASTERS - 1 - Math.floor(((slot + 0.5) * MASTERS) / SLOTS)
    },
    async detachReplica() {
      // A frozen process cannot connect again.
      replica.server.signal('SIGSTOP')
      const redis = open(first.server.url)
      await redis.client('KILL', 'TYPE', 'REPLICA')
      redis.disconnect()
    },
    async killMaster() {
      await first.server.kill()
      replica.server.signal('SIGCONT')
    },
    stop: async () => void (await Promise.all(nodes.map(async ({ server }) => await server.stop()))),
  }
}

async function startNode() {
  const [port, busPort] = [await freePort(), await freePort()]
  const server = await startLocalRedis(scratchData('redis-node'), {
    port,
    settings: {
      ...REPLICATED,
      'cluster-enabled': 'yes',
      'cluster-port': String(busPort),
      'cluster-node-timeout': String(NODE_TIMEOUT_MS),
      // While one master is down, the models of the other masters are still served.
      'cluster-require-full-coverage': 'no',
    },
  })
  return { server, port, busPort, client: open(server.url) }
}

function open(url: string): Redis {
  const log = pino({ level: 'silent' })
  return openRedis({ place: { mode: 'single', url }, name: 'test-support', patience: 'patient', log })
}
