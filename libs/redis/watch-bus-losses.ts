import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'

/**
 * The counters of INFO that grow when a bus server drops a client or a key, each with the setting that an operator must
 * then change. A bus server whose memory is full does nothing else that is harmful: it still delivers messages. It
 * stores only two kinds of data, each for seconds: embedding vectors, and prompts whose tokens a worker will count.
 */
const REMEDIES = {
  client_output_buffer_limit_disconnections: 'raise client-output-buffer-limit pubsub',
  evicted_clients: 'raise maxmemory-clients',
  evicted_keys: 'raise maxmemory',
} as const

/** A kind of loss; the name of the counter in INFO. */
export type BusLoss = keyof typeof REMEDIES
export const BUS_LOSSES = [
  'client_output_buffer_limit_disconnections',
  'evicted_clients',
  'evicted_keys',
] as const

/**
 * Checks every `everyMs` for losses: clients that a bus server has disconnected because they read too slowly for its
 * limits, and keys that it has deleted because its memory was full. After a loss, gateways and workers either repair
 * the damage or end one request, so nothing but this check shows the cause. Each kind of loss is logged with the
 * setting to change, and passed to `onLoss` with the number of clients or keys that were lost since the previous check.
 * Losses before the first check do not count. Returns a function that stops the checks.
 */
export function watchBusLosses(options: {
  /** A client whose commands fail when Redis does not answer for seconds. */
  redis: Redis
  everyMs: number
  onLoss: (loss: BusLoss, count: number) => void
  log: Logger
}): () => void {
  const { redis, everyMs, onLoss, log } = options
  const stopping = new AbortController()
  let before: ReadonlyMap<string, number> | null = null

  async function look() {
    const now = readCounters(await redis.info('stats'))
    for (const loss of BUS_LOSSES) {
      const count = (now.get(loss) ?? 0) - (before?.get(loss) ?? now.get(loss) ?? 0)
      // A server that was restarted, or another one after a failover, counts from zero.
      if (count <= 0) continue
      onLoss(loss, count)
      log.error(
        { loss, count, remedy: REMEDIES[loss] },
        'the bus Redis drops clients or keys by its settings',
      )
    }
    before = now
  }

  async function run() {
    while (!stopping.signal.aborted) {
      // The connection itself logs why a server does not answer, or refuses INFO.
      await look().catch(() => undefined)
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }

  void run()
  return () => stopping.abort()
}

function readCounters(info: string): Map<string, number> {
  return new Map(
    [...info.matchAll(/^(\w+):(\d+)\s*$/gm)].map(([, name = '', value]) => [name, Number(value)]),
  )
}
