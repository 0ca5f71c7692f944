import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { lastLines } from '#scripts/servers/start-process.ts'
import { freePort } from '../free-port.ts'
import { createPostgres } from '../postgres.ts'
import { startApp, type RunningApp } from '../processes.ts'
import { createRedis } from '../redis.ts'
import { scratchFolder } from '../run-folder.ts'

/** A process that is killed repeatedly and started again each time. */
export type Victim = {
  name: string
  /** False from the kill until the process answers again. */
  isUp(): boolean
  /** Kills the process (kill -9) and starts it again. Resolves when it answers. */
  killAndRestart(): Promise<void>
  kills(): number
  stop(): Promise<void>
}

export type Replica = Victim & {
  address: string
  /** Returns the end of the process's log since its latest start. */
  lastWords(): string
  /** Returns how often the process found that the database had lost commits, which this database never does. */
  replays(): number
}

const MAX_STARTS = 20

/** Starts two billing processes on one PostgreSQL that flushes each commit and one Redis that flushes each command. */
export async function startServers(models: readonly ModelSpec[]) {
  const postgres = await createPostgres({ fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on' })
  // Redis must keep acknowledged writes after kill -9; otherwise Redis could lose a settlement, and the test would
  // blame billing. With `everysec`, Redis may acknowledge a write before it passes the write to the kernel, namely
  // while an earlier flush is still running.
  const redis = await createRedis({ appendfsync: 'always' })
  const catalogFile = join(scratchFolder('catalog'), 'catalog.json')
  writeFileSync(catalogFile, JSON.stringify({ models }))

  async function startReplica(name: string): Promise<Replica> {
    const address = `127.0.0.1:${await freePort()}`
    const env = {
      LOG_LEVEL: 'warn',
      DATABASE_URL: postgres.url('postgres'),
      QUEUE_REDIS_URL: redis.url,
      GRPC_LISTEN: address,
      ADMIN_PORT: String(await freePort()),
      ADMIN_TOKEN: 'a-token-of-the-tests',
      RECEIPT_SECRETS: 'a-receipt-secret-of-32-characters',
      CATALOG_FILE: catalogFile,
      HOLD_GRACE_MS: '1000',
    }
    let running = await startPatiently(env)
    let replays = 0
    const count = () => {
      if (running.logs().includes('the database went back in time')) replays += 1
    }
    const victim = toVictim(name, {
      async kill() {
        if (running.hasExited()) throw new Error(`${name} ended by itself:\n${lastLines(running)}`)
        await running.kill()
        count()
      },
      async start() {
        running = await startPatiently(env)
      },
      async stop() {
        await running.stop()
        count()
      },
    })
    return { ...victim, address, lastWords: () => lastLines(running), replays: () => replays }
  }

  const replicas: [Replica, Replica] = await Promise.all([
    startReplica('replica-1'),
    startReplica('replica-2'),
  ])
  return {
    databaseUrl: postgres.url('postgres'),
    redisUrl: redis.url,
    replicas,
    postgres: toVictim('postgres', postgres),
    redis: toVictim('redis', redis),
  }
}

export type Servers = Awaited<ReturnType<typeof startServers>>

/**
 * Starts a replica. A replica that finds no database at its start exits, and is started again, as an orchestrator does.
 */
async function startPatiently(env: Readonly<Record<string, string>>): Promise<RunningApp> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startApp('billing', env)
    } catch (error) {
      if (attempt === MAX_STARTS) throw error
    }
  }
}

function toVictim(
  name: string,
  server: { kill(): Promise<void>; start(): Promise<void>; stop(): Promise<void> },
): Victim {
  let kills = 0
  let restarting: Promise<void> | null = null
  async function restart() {
    try {
      await server.kill()
      kills += 1
      await server.start()
    } finally {
      restarting = null
    }
  }
  return {
    name,
    isUp: () => restarting === null,
    killAndRestart() {
      restarting ??= restart()
      return restarting
    },
    kills: () => kills,
    async stop() {
      await restarting?.catch(() => undefined)
      await server.stop()
    },
  }
}
