import { readdirSync } from 'node:fs'
import { Redis } from 'ioredis'
import { settlementStreamKey } from '../../libs/queue-redis/keys.ts'
import { sumMetric } from '../../test/support/cluster.ts'
import { readResidentKib } from '../harness/process-cpu.ts'

/** The environment in which a signal makes a Node process collect its garbage. */
export const COLLECTS = {
  NODE_OPTIONS: `--import=${new URL('collect-on-signal.ts', import.meta.url).href}`,
} as const

export type Watched = { readonly name: string; readonly pid: number; readonly opsUrl?: string }

/** The figures of one process at one moment. */
export type ProcessSample = {
  readonly residentMib: number
  /** The size of the heap and its buffers after a garbage collection; null for Redis. */
  readonly heldMib: number | null
  /** Open file descriptors, sockets included. */
  readonly files: number
  /** The 99th percentile of the event loop's delay since the previous sample; null for Redis. */
  readonly loopP99Ms: number | null
}

export type Sample = {
  readonly processes: Readonly<Record<string, ProcessSample>>
  readonly redis: {
    readonly keys: number
    readonly usedMib: number
    /** The memory of settlements, which are kept for an hour by design. */
    readonly settlementsMib: number
  }
}

/** Makes each Node process collect its garbage. */
export async function collectGarbage(watched: readonly Watched[]): Promise<void> {
  await Promise.all(
    watched.map(async ({ pid, opsUrl }) => {
      if (opsUrl === undefined) return
      process.kill(pid, 'SIGUSR2')
      // Node may handle a signal after requests that are already waiting. A request that is sent now is handled after
      // the signal, so its answer shows that the garbage was collected.
      await (await fetch(`${opsUrl}/livez`, { signal: AbortSignal.timeout(5_000) })).text()
    }),
  )
}

/**
 * Reads a sample of every process and of the Redis server. The event loop's delay of a process is measured since the
 * previous reading of its `/metrics`.
 */
export async function readSample(
  watched: readonly Watched[],
  { redis, models }: { redis: Redis; models: readonly string[] },
): Promise<Sample> {
  const processes = await Promise.all(
    watched.map(async ({ name, pid, opsUrl }) => {
      const sample: ProcessSample = {
        ...(opsUrl === undefined ? { heldMib: null, loopP99Ms: null } : await readMetrics(opsUrl)),
        residentMib: readResidentKib(pid) / 1_024,
        files: readdirSync(`/proc/${pid}/fd`).length,
      }
      return [name, sample] as const
    }),
  )
  const used = /^used_memory:(\d+)/mu.exec(await redis.info('memory'))
  const kept = await Promise.all(
    models.map(async (model) => await redis.memory('USAGE', settlementStreamKey(model), 'SAMPLES', 0)),
  )
  return {
    processes: Object.fromEntries(processes),
    redis: {
      keys: await redis.dbsize(),
      usedMib: Number(used?.[1]) / 2 ** 20,
      settlementsMib: kept.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0) / 2 ** 20,
    },
  }
}

async function readMetrics(opsUrl: string): Promise<Pick<ProcessSample, 'heldMib' | 'loopP99Ms'>> {
  const response = await fetch(`${opsUrl}/metrics`, { signal: AbortSignal.timeout(5_000) })
  const text = await response.text()
  const heap = sumMetric(text, 'nodejs_heap_size_used_bytes', {})
  const external = sumMetric(text, 'nodejs_external_memory_bytes', {})
  return {
    heldMib: (heap + external) / 2 ** 20,
    loopP99Ms: sumMetric(text, 'nodejs_eventloop_lag_p99_seconds', {}) * 1_000,
  }
}
