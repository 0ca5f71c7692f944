import type { FastifyRequest } from 'fastify'
import { Registry } from '@prometheus-io/client'
import { ME } from '#libs/admin-contract/resources/me.ts'
import { toAdminRequest } from '#libs/admin-contract/admin-request.ts'
import { wallClockMs } from '#libs/clock/wall-clock.ts'
import { toBusRedis, toQueueRedis } from '#libs/config/redis-fields.ts'
import { busRights, queueRights } from '#libs/queue-redis/rights.ts'
import { runApp } from '#libs/lifecycle/run-app.ts'
import { createConnectBus } from '#libs/redis/connect-bus.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { closeOps, serveOps } from '#libs/telemetry/serve-ops.ts'
import { VERSION } from '#libs/telemetry/version.ts'
import { ConsoleConfig, toOrigin } from './config.ts'
import { createConsoleMetrics } from './console-metrics.ts'
import { ConsoleError } from './http/console-error.ts'
import { loadConsolePage } from './http/load-console-page.ts'
import { createConsoleServer } from './http/serve-console.ts'
import { createCheckViewer } from './live/check-viewer.ts'
import { startLive } from './live/live.ts'
import { serveLive } from './live/serve-live.ts'

const BILLING_LIMIT_MS = 5_000

await runApp({ name: 'console', schema: ConsoleConfig, environment: process.env }, async (context) => {
  const { config, log, releasers } = context
  const nowMs = () => performance.now()
  const registry = new Registry()
  const page = await loadConsolePage()
  let listens = false
  const ops = await serveOps({
    app: 'console',
    host: config.OPS_HOST,
    port: config.OPS_PORT,
    registry,
    // The console stays ready if Redis becomes unreachable: the page shows that.
    readiness: () => (listens ? { ready: true } : { ready: false, reason: 'waiting for Redis' }),
  })
  releasers.add('ops', ops, { run: closeOps })

  const connectBus = createConnectBus({ app: 'console', rights: busRights('console'), releasers, log })
  const queuePlace = {
    place: toQueueRedis(config),
    name: 'console-queue',
    patience: 'fail-fast',
    rights: queueRights('console'),
  } as const
  const queue = releasers.add('queue', await connectRedis({ ...queuePlace, log }), {
    run: (redis) => redis.disconnect(),
  })
  const servers = await Promise.all(toBusRedis(config).map(connectBus))
  const live = await startLive({ servers, queue, nowMs, unixMs: wallClockMs, log })
  releasers.add('live', live, { run: () => live.stop() })
  createConsoleMetrics({ registry, live })

  const whoami = toAdminRequest(ME.whoAmI, {})
  const checkViewer = createCheckViewer({
    async askWhoami(token) {
      const response = await fetch(config.BILLING_ADMIN_URL + whoami.target, {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(BILLING_LIMIT_MS),
        redirect: 'error',
      })
      await response.body?.cancel()
      return response.status
    },
    nowMs,
  })
  const app = createConsoleServer({
    origin: toOrigin(config),
    billingUrl: config.BILLING_ADMIN_URL,
    page,
    trustedProxies: config.TRUSTED_PROXIES,
    keepAliveTimeoutMs: config.KEEP_ALIVE_TIMEOUT_S * 1_000,
    settings: {
      version: VERSION,
      grafanaUrl: config.GRAFANA_URL ?? null,
      docsUrl: config.DOCS_URL ?? null,
    },
    serveLive(server, tokenOf) {
      const authorize = async (request: FastifyRequest) => {
        const answer = await checkViewer(tokenOf(request))
        if (answer === 'refused') throw new ConsoleError('invalid_token')
        if (answer === 'not-known') throw new ConsoleError('billing_unreachable')
      }
      const isRevoked = async (request: FastifyRequest) => (await checkViewer(tokenOf(request))) === 'refused'
      serveLive(server, { live, authorize, isRevoked, unixMs: wallClockMs })
    },
    nowMs,
    log,
  })
  releasers.add('http', app, { run: async () => await app.close() })
  await app.listen({ host: config.HOST, port: config.PORT })
  listens = true
  log.info({ host: config.HOST, port: config.PORT }, 'console listens')
})
