import { readdirSync } from 'node:fs'
import { Redis } from 'ioredis'
import { sumMetric } from '../../test/support/cluster.ts'
import { readResidentKib } from '../harness/process-cpu.ts'

export type Watched = { readonly name: string; readonly pid: number; readonly opsUrl?: string }

/** One process at one moment. */
export type ProcessSample = {
  readonly residentMib: number
  /** Open file descriptors, sockets included. */
  readonly files: number
  /** 99th percentile of the event loop's delay since the sample before, the monitor's 10 ms included; null for Redis. */
  readonly loopP99Ms: number | null
}

export type Sample = {
  readonly processes: Readonly<Record<string, ProcessSample>>
  readonly redis: { readonly keys: number; readonly usedMib: number }
}

/** Reads every process and the server; each reading of `/metrics` begins a new time for the event loop's delay. */
export async function readSample(watched: readonly Watched[], redis: Redis): Promise<Sample> {
  const processes = await Promise.all(
    watched.map(async ({ name, pid, opsUrl }) => {
      const sample: ProcessSample = {
        residentMib: readResidentKib(pid) / 1_024,
        files: readdirSync(`/proc/${pid}/fd`).length,
        loopP99Ms: opsUrl === undefined ? null : await readLoopP99Ms(opsUrl),
      }
      return [name, sample] as const
    }),
  )
  const used = /^used_memory:(\d+)/mu.exec(await redis.info('memory'))
  return {
    processes: Object.fromEntries(processes),
    redis: { keys: await redis.dbsize(), usedMib: Number(used?.[1]) / 2 ** 20 },
  }
}

async function readLoopP99Ms(opsUrl: string): Promise<number> {
  const response = await fetch(`${opsUrl}/metrics`, { signal: AbortSignal.timeout(5_000) })
  return sumMetric(await response.text(), 'nodejs_eventloop_lag_p99_seconds', {}) * 1_000
}
