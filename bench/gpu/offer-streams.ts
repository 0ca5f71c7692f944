import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { readFamilyCpuUs, readThreadsCpuUs } from '../harness/process-cpu.ts'
import { StreamFigures, toLoadFigures, type ClientOrder, type LoadFigures } from './figures.ts'

/** One of the two servers that are compared. */
export type Side = {
  readonly name: string
  readonly baseUrl: string
  readonly apiKey: string
  readonly model: string
  readonly processes: readonly SideProcess[]
}

/** A process of a side. With `withChildren`, its child processes count too. */
export type SideProcess = { readonly name: string; readonly pid: number; readonly withChildren?: boolean }

export type Load = Pick<ClientOrder, 'streams' | 'requests' | 'words' | 'tokens' | 'prompt'>

export type MeasuredLoad = LoadFigures & {
  /** CPU time by process, in µs for each token of output. */
  readonly cpuUs: ReadonlyMap<string, number>
}

/** Keeps `load.streams` streams open on one side, and measures them and the processor time of the side's processes. */
export async function offerStreams(side: Side, load: Load, threads: number): Promise<MeasuredLoad> {
  const before = readCpu(side.processes)
  const startedMs = performance.now()
  const shares = Array.from({ length: Math.min(threads, load.streams) }, (_, thread) => thread)
  const streams = await Promise.all(
    shares.map(async (thread) =>
      runClients({
        ...load,
        baseUrl: side.baseUrl,
        apiKey: side.apiKey,
        model: side.model,
        streams: shareOf(load.streams, thread, shares.length),
        requests: shareOf(load.requests, thread, shares.length),
      }),
    ),
  )
  const wallMs = performance.now() - startedMs
  const after = readCpu(side.processes)
  const figures = toLoadFigures(streams.flat(), { wallMs, tokens: load.tokens })
  const cpuUs = new Map(
    Array.from(after, ([name, us]) => [name, (us - (before.get(name) ?? 0)) / figures.tokens] as const),
  )
  return { ...figures, cpuUs }
}

async function runClients(order: ClientOrder): Promise<StreamFigures[]> {
  const thread = new Worker(new URL('./client-thread.ts', import.meta.url), { workerData: order })
  const [figures] = await once(thread, 'message')
  await thread.terminate()
  return z.array(StreamFigures).parse(figures)
}

const shareOf = (whole: number, place: number, of: number): number =>
  Math.floor(whole / of) + (place < whole % of ? 1 : 0)

function readCpu(processes: readonly SideProcess[]): Map<string, number> {
  const used = new Map<string, number>()
  for (const { name, pid, withChildren = false } of processes) {
    const us = withChildren ? readFamilyCpuUs(pid) : readThreadsCpuUs(pid)
    used.set(name, (used.get(name) ?? 0) + us)
  }
  return used
}
