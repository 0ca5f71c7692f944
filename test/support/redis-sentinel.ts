import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import type { RedisServerPlace } from '#libs/config/redis-fields.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { ensureRedisServer } from '#scripts/servers/ensure-redis-server.ts'
import { startProcess, waitUntilReady, type RunningProcess } from '#scripts/servers/start-process.ts'
import { freePort } from './free-port.ts'
import { REPLICATED, startLocalRedis, TOOLS } from './local-servers.ts'
import { scratchData, scratchFolder } from './run-folder.ts'
import { until } from './until.ts'

const NAME = 'queue_master'
const [USER, PASSWORD, SENTINEL_PASSWORD] = ['app', 'secret of the app', 'secret-of-the-sentinels']
const DOWN_AFTER_MS = 500

export type TestSentinelGroup = {
  place: RedisServerPlace
  /** Returns `place` as an app's environment: fields with this prefix. */
  environment(prefix: 'QUEUE_REDIS' | 'BUS_REDIS'): Record<string, string>
  /**
   * Stops replication to the first master's replica: writes that the master acknowledges from now on are lost when it
   * is killed.
   */
  detachReplica(): Promise<void>
  /** Kills the first master (kill -9); the replica becomes the master. */
  killMaster(): Promise<void>
  stop(): Promise<void>
}

/**
 * Creates a master, a replica and three sentinels. The apps log in as an ACL user, and the sentinels have a password. A
 * master that is silent for 500 ms is replaced.
 */
export async function createSentinelGroup(): Promise<TestSentinelGroup> {
  const acl = { user: `${USER} on ${JSON.stringify(`>${PASSWORD}`)} ~* &* +@all` }
  const master = await startLocalRedis(scratchData('redis-master'), { settings: { ...acl, ...REPLICATED } })
  const masterPort = new URL(master.url).port
  const replica = await startLocalRedis(scratchData('redis-replica'), {
    settings: { ...acl, ...REPLICATED, replicaof: `127.0.0.1 ${masterPort}` },
  })
  const replicaClient = client(replica.url)
  await until(async () => (await replicaClient.info('replication')).includes('master_link_status:up'))
  replicaClient.disconnect()
  const sentinels = await Promise.all([1, 2, 3].map(async () => await startMember(masterPort)))
  await Promise.all(sentinels.map(async ({ port }) => await knowsGroup(port)))
  const place = {
    mode: 'sentinel',
    url: `redis://${USER}:${encodeURIComponent(PASSWORD)}@${NAME}`,
    sentinels: sentinels.map(({ port }) => `127.0.0.1:${port}`),
    sentinelPassword: SENTINEL_PASSWORD,
  } as const
  return {
    place,
    environment: (prefix) => ({
      [`${prefix}_MODE`]: place.mode,
      [`${prefix}_URL`]: place.url,
      [`${prefix}_SENTINELS`]: place.sentinels.join(','),
      [`${prefix}_SENTINEL_PASSWORD`]: place.sentinelPassword,
    }),
    async detachReplica() {
      // A frozen process cannot connect again.
      replica.signal('SIGSTOP')
      const redis = client(master.url)
      await redis.client('KILL', 'TYPE', 'REPLICA')
      redis.disconnect()
    },
    async killMaster() {
      await master.kill()
      replica.signal('SIGCONT')
    },
    async stop() {
      // The sentinels stop first; otherwise they would declare the other servers dead.
      await Promise.all(sentinels.map(({ process }) => process.stop()))
      await Promise.all([master.stop(), replica.stop()])
    },
  }
}

async function startMember(masterPort: string) {
  const port = await freePort()
  const process = await startSentinel({
    url: sentinelUrl(port),
    configuration: [
      `port ${port}`,
      `requirepass ${SENTINEL_PASSWORD}`,
      `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
      `sentinel monitor ${NAME} 127.0.0.1 ${masterPort} 2`,
      `sentinel auth-pass ${NAME} test`,
      `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${NAME} 5000`,
    ],
  })
  const redis = client(sentinelUrl(port))
  // By default sentinels greet each other every 2 s, and check the replicas every 10 s.
  await redis.call('SENTINEL', 'DEBUG', 'PUBLISH-PERIOD', '100', 'INFO-PERIOD', '200')
  redis.disconnect()
  return { process, port }
}

/** Starts one sentinel. Resolves when it answers at `url`. */
export async function startSentinel(options: {
  url: string
  configuration: readonly string[]
}): Promise<RunningProcess> {
  const folder = scratchFolder('redis-sentinel')
  // The configuration is in a file, because a sentinel writes its state into it.
  const file = join(folder, 'sentinel.conf')
  const lines = ['bind 127.0.0.1', `dir ${JSON.stringify(folder)}`, ...options.configuration]
  writeFileSync(file, lines.join('\n'), { mode: 0o600 })
  const running = await startProcess({
    name: 'redis-sentinel',
    command: await ensureRedisServer({ tools: TOOLS, say: console.error }),
    args: [file, '--sentinel'],
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    logFile: join(folder, 'sentinel.log'),
    stop: { signal: 'SIGTERM', graceMs: 5_000 },
  })
  const redis = client(options.url)
  await waitUntilReady(running, {
    probe: async () => (await redis.ping()) === 'PONG',
    limitMs: 20_000,
    signal: undefined,
  })
  redis.disconnect()
  return running
}

/** Resolves when the sentinel knows the replica and both other sentinels, so that it can take part in a failover. */
async function knowsGroup(port: number): Promise<void> {
  const redis = client(sentinelUrl(port))
  await until(async () => {
    const text = JSON.stringify(await redis.call('SENTINEL', 'MASTER', NAME))
    return text.includes('"num-slaves","1"') && text.includes('"num-other-sentinels","2"')
  })
  redis.disconnect()
}

const sentinelUrl = (port: number) => `redis://:${SENTINEL_PASSWORD}@127.0.0.1:${port}`

function client(url: string) {
  const log = pino({ level: 'silent' })
  return openRedis({ place: { mode: 'single', url }, name: 'test-support', patience: 'patient', log })
}
