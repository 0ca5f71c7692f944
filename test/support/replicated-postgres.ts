import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { copyRunningData, giveToPostgres } from './base-backup.ts'
import { startTcpProxy, type Target } from './faulty-cluster/tcp-proxy.ts'
import { freePort } from './free-port.ts'
import { startLocalPostgres } from './local-servers.ts'
import { endWithSessions, type TestPostgres } from './postgres.ts'
import { scratchData } from './run-folder.ts'
import { until } from './until.ts'

export type ReplicatedPostgres = TestPostgres & {
  /**
   * Makes the standby the primary. The database's URL then leads to this new primary. `killed`: kills the former
   * primary first. `read-only`: the former primary continues and accepts no changes, and connections to it stay open
   * until `replaceFormer`.
   */
  promote(former: 'killed' | 'read-only'): Promise<void>
  /** Kills the former primary of the last `promote` if it runs, and gives the present one a new standby. */
  replaceFormer(): Promise<void>
}

type Running = Awaited<ReturnType<typeof startLocalPostgres>>
type Server = { readonly folder: string; running: Running }

/**
 * Settings of a primary that may get a standby. The primary keeps enough write-ahead log for a standby that begins to
 * stream a little after its base backup.
 */
const SETTINGS = { wal_keep_size: '512MB', wal_retrieve_retry_interval: '100ms' }

const STANDBY = 'standby'

/**
 * Creates a PostgreSQL of a primary and a standby. A commit is answered only when the standby has it too. `url` returns
 * an address that always leads to the present primary, like the Service of a PostgreSQL operator.
 */
export async function createReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const folder = scratchData('postgres')
  let primary: Server = { folder, running: await startLocalPostgres(folder, { settings: SETTINGS }) }
  let standby: Server | null = null
  let former: Server | null = null
  const address = await startTcpProxy([targetOf(primary)])

  async function addStandby() {
    standby = await startStandby(primary)
    // The standby must stream before it is named; until then commits would wait for it.
    await until(async () => (await count(primary, "state = 'streaming'")) === 1)
    await ask(primary, `alter system set synchronous_standby_names = '${STANDBY}'`)
    await ask(primary, 'select pg_reload_conf()')
    await until(async () => (await count(primary, "sync_state = 'sync'")) === 1)
  }
  await addStandby()

  const endFormer = async () => {
    if (former !== null) await endWithSessions(former.running)
    former = null
  }

  return {
    url(database) {
      const url = new URL(primary.running.url(database))
      url.port = String(address.port)
      return url.href
    },
    pid: () => primary.running.pid,
    async stop() {
      await endFormer()
      await standby?.running.stop()
      await primary.running.stop()
      await address.close()
    },
    kill: () => endWithSessions(primary.running),
    async start() {
      const { port } = targetOf(primary)
      await primary.running.stop()
      primary.running = await startLocalPostgres(primary.folder, { port, settings: SETTINGS })
    },
    async promote(how) {
      if (standby === null) throw new Error('there is no standby')
      if (how === 'killed') {
        await endWithSessions(primary.running)
      } else {
        await ask(primary, 'alter system set default_transaction_read_only = on')
        await ask(primary, 'select pg_reload_conf()')
      }
      await ask(standby, 'select pg_promote()')
      former = how === 'killed' ? null : primary
      ;[primary, standby] = [standby, null]
      address.setTarget(targetOf(primary))
    },
    async replaceFormer() {
      await endFormer()
      await addStandby()
    },
  }
}

async function startStandby(primary: Server): Promise<Server> {
  const folder = scratchData('postgres')
  const data = join(folder, 'data')
  const url = primary.running.url('postgres')
  await copyRunningData({ url, from: join(primary.folder, 'data'), to: data })
  writeFileSync(join(data, 'standby.signal'), '')
  // Drops the settings that were changed at the primary by `alter system`, such as the wait for a standby at each
  // commit. A standby that becomes the primary has no standby of its own at first, so its commits must not wait for
  // one.
  writeFileSync(join(data, 'postgresql.auto.conf'), '')
  giveToPostgres(data)
  const { username, password } = new URL(url)
  const { port } = targetOf(primary)
  const primaryInfo = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=${STANDBY}`
  const settings = { ...SETTINGS, primary_conninfo: primaryInfo }
  return { folder, running: await startLocalPostgres(folder, { port: await freePort(), settings }) }
}

function targetOf({ running }: Server): Target {
  const { hostname: host, port } = new URL(running.url('postgres'))
  return { host, port: Number(port) }
}

async function count(server: Server, condition: string): Promise<number> {
  const [row] = await ask(server, `select count(*)::int as count from pg_stat_replication where ${condition}`)
  return Number(row?.['count'])
}

async function ask({ running }: Server, statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: running.url('postgres') })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}
