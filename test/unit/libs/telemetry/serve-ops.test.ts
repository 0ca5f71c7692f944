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
