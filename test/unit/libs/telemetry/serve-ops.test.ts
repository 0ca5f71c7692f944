import { setImmediate as nextTurn } from 'node:timers/promises'
import { Registry } from '@prometheus-io/client'
import { expect, test } from 'vitest'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { VERSION } from '#libs/telemetry/version.ts'

test('every app exports its name and version', async () => {
  const registry = new Registry()
  const readiness = () => ({ ready: true }) as const
  const server = await serveOps({ app: 'gateway', host: '127.0.0.1', port: 0, registry, readiness })
  try {
    expect(VERSION).toMatch(/^\d+\.\d+\.\d+/)
    expect(await registry.getSingleMetricAsString('millrace_build_info')).toContain(
      `millrace_build_info{app="gateway",version="${VERSION}"} 1`,
    )
  } finally {
    await closeOps(server)
  }
})

test('two metrics tell how late the event loop was since they were read, without the period of its samples', async () => {
  const registry = new Registry()
  const readiness = () => ({ ready: true }) as const
  const server = await serveOps({ app: 'gateway', host: '127.0.0.1', port: 0, registry, readiness })
  try {
    const names = registry.getMetricsAsArray().map(({ name }) => name)
    expect(names.filter((name) => name.includes('eventloop'))).toEqual([P99, LONGEST])
    await expect
      .poll(async () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
        // The overdue sample is taken in the next iteration of the event loop.
        await nextTurn()
        await nextTurn()
        const lags = await readLags(registry)
        return lags[0] > 0.1 && lags[1] >= lags[0] && lags[1] < 1
      }, SAMPLED)
      .toBe(true)
    await expect.poll(async () => Math.max(...(await readLags(registry))), SAMPLED).toBeLessThan(0.03)
  } finally {
    await closeOps(server)
  }
})

/** Long enough for some samples between two readings. */
const SAMPLED = { interval: 200, timeout: 20_000 }

const P99 = 'nodejs_eventloop_lag_p99_seconds'
const LONGEST = 'nodejs_eventloop_lag_max_seconds'

/** Returns the 99th percentile of the delays, and the longest delay. */
async function readLags(registry: Registry): Promise<[p99: number, longest: number]> {
  const text = await registry.metrics()
  const read = (name: string) => Number(new RegExp(String.raw`^${name}\S* (\S+)$`, 'm').exec(text)?.[1])
  return [read(P99), read(LONGEST)]
}
