import { Client, type ClientConfig, type Pool } from 'pg'
import type { Logger } from '#libs/telemetry/logger.ts'
import { connectionConfig, SERVICE_ROLE } from './open-pool.ts'
import { toRenewedTls } from './renewed-tls.ts'

/** The counters of `change_counters`. */
export type Watched = 'keys' | 'catalog'

export type VersionWatch = {
  /** Calls `onChange` after each change, and sometimes without a change. Returns a function that unsubscribes. */
  subscribe(watched: Watched, onChange: () => void): () => void
  close(): Promise<void>
}

/**
 * Reports the changes of keys and of the catalog that any replica has made. PostgreSQL sends a notification at commit.
 * Notifications are lost while there is no connection, so the versions of keys and catalog are also read every `pollMs`
 * and compared with the versions that were read before.
 */
export function watchVersions(options: {
  /**
   * URL of a direct connection, on which PostgreSQL sends notifications. If it is null, changes are found only by the
   * reads every `pollMs`.
   */
  url: string | null
  pool: Pool
  log: Logger
  pollMs: number
}): VersionWatch {
  const { url, pool, log, pollMs } = options
  const subscribers: Record<Watched, Set<() => void>> = { keys: new Set(), catalog: new Set() }
  const seen = new Map<string, bigint>()
  let listener: Client | null = null
  let connecting: Promise<void> | null = null
  let closed = false

  function notify(watched: Watched) {
    for (const onChange of subscribers[watched]) onChange()
  }

  const config = url === null ? null : toRenewedTls(connectionConfig(url, SERVICE_ROLE), log)

  async function listen(config: ClientConfig) {
    const client = new Client(config)
    const lost = (reason: unknown) => {
      if (listener === client) listener = null
      if (!closed) log.warn({ reason: String(reason) }, 'not listening to PostgreSQL, polling')
    }
    client.on('error', lost)
    client.on('end', () => listener === client && lost('connection ended'))
    client.on('notification', ({ channel }) => notify(channel === 'millrace_keys' ? 'keys' : 'catalog'))
    try {
      await client.connect()
      await client.query('listen millrace_keys')
      await client.query('listen millrace_catalog')
      listener = client
    } catch (error) {
      lost(error)
      await client.end().catch(() => undefined)
    }
  }

  async function poll() {
    try {
      const { rows } = await pool.query<{ name: string; version: bigint }>('select * from change_counters')
      for (const { name, version } of rows) {
        if (seen.get(name) === version) continue
        seen.set(name, version)
        if (name === 'keys' || name === 'catalog') notify(name)
      }
    } catch (error) {
      log.warn({ err: error }, 'change counters could not be read')
    }
  }

  async function check() {
    if (listener === null && config !== null) await listen(config)
    await poll()
  }

  const tick = () => {
    connecting ??= check().finally(() => {
      connecting = null
    })
  }
  tick()
  const timer = setInterval(tick, pollMs)

  return {
    subscribe(watched, onChange) {
      subscribers[watched].add(onChange)
      return () => subscribers[watched].delete(onChange)
    },
    async close() {
      closed = true
      clearInterval(timer)
      await connecting
      await listener?.end()
    },
  }
}
