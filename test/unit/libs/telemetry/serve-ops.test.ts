import { setImmediate as nextTurn } from 'node:timers/promises'
import { Registry } from 'prom-client'
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

test('one metric tells how late the event loop was since it was read, without the period of its samples', async () => {
  const registry = new Registry()
  const readiness = () => ({ ready: true }) as const
  const server = await serveOps({ app: 'gateway', host: '127.0.0.1', port: 0, registry, readiness })
  try {
    const names = registry.getMetricsAsArray().map(({ name }) => name)
    expect(names.filter((name) => name.includes('eventloop'))).toEqual(['nodejs_eventloop_lag_p99_seconds'])
    await expect
      .poll(async () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
        // The sample that is overdue is taken when the loop has turned.
        await nextTurn()
        await nextTurn()
        return await readLag(registry)
      }, SAMPLED)
      .toBeGreaterThan(0.1)
    await expect.poll(async () => await readLag(registry), SAMPLED).toBeLessThan(0.03)
  } finally {
    await closeOps(server)
  }
})

/** Long enough for some samples between two readings. */
const SAMPLED = { interval: 200, timeout: 20_000 }

async function readLag(registry: Registry): Promise<number> {
  const text = await registry.getSingleMetricAsString('nodejs_eventloop_lag_p99_seconds')
  return Number(text.trim().split(' ').at(-1))
}
