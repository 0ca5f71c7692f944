import { Server, status, type sendUnaryData, type ServerWritableStream } from '@grpc/grpc-js'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { BillingKey } from '#libs/billing-client/billing-calls.ts'
import { STREAM_AGE_MS } from '#libs/billing-client/billing-client.ts'
import { toCatalogMessage, toKeyChangesMessage, toKeyMessage } from '#libs/billing-client/billing-wire.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ProtoGrpcType } from '#proto/types/billing.ts'
import type { BillingHandlers } from '#proto/types/millrace/billing/Billing.ts'
import type { Catalog } from '#proto/types/millrace/billing/Catalog.ts'
import type { KeyChanges } from '#proto/types/millrace/billing/KeyChanges.ts'
import type { LookUpKeyResponse } from '#proto/types/millrace/billing/LookUpKeyResponse.ts'
import type { WatchCatalogRequest__Output } from '#proto/types/millrace/billing/WatchCatalogRequest.ts'
import type { WatchKeysRequest__Output } from '#proto/types/millrace/billing/WatchKeysRequest.ts'
import { serveCallers } from './accounts/serve-callers.ts'
import { readCatalog } from './catalog/read-catalog.ts'
import { readKeyChanges } from './database/keys.ts'
import type { Tables } from './database/tables.ts'
import type { VersionWatch } from './database/watch-versions.ts'
import type { Lane } from './money/lanes/lane.ts'
import type { MoneyAnswer, MoneyRequest } from './money/lanes/money-lane.ts'
import type { BillingMetrics } from './metrics.ts'
import { serveMoney } from './money/serve-money.ts'
import { serveWatch } from './serve-watch.ts'

/**
 * The longest age of a connection, and the time for which its streams may last beyond that age. A gateway finds new
 * replicas only when a connection ends. If connections had no largest age, the replica that started last would get no
 * calls. Gateways replace their streams by themselves within half of `CONNECTION_GRACE_MS`, so no stream is cut off.
 */
const CONNECTION_AGE_MS = 5 * 60_000
const CONNECTION_GRACE_MS = 2 * STREAM_AGE_MS

/** Pings detect gateways that disappeared without closing their connection. */
const SERVER_OPTIONS = { 'grpc.keepalive_time_ms': 10_000, 'grpc.keepalive_timeout_ms': 5_000 } as const

/**
 * Creates the gRPC service of `proto/billing.proto`. The caller binds its server to a port. `endStreams` ends all open
 * streams, so that gateways connect to another replica.
 */
export function createBillingService(deps: {
  pool: Pool
  /** The database for the operations of callers (`serve-callers.ts`). */
  callersDb: Kysely<Tables>
  lane: Lane<MoneyRequest, MoneyAnswer>
  lookUps: Lane<Buffer, BillingKey | null>
  versions: VersionWatch
  metrics: BillingMetrics
  nowMs: () => number
  log: Logger
  /** The longest age of a connection, and the grace of its streams; by default 5 and 2 minutes. */
  connections?: { readonly ageMs: number; readonly graceMs: number }
}): { server: Server; endStreams: () => void } {
  const { pool, versions, nowMs, log } = deps
  const { connections = { ageMs: CONNECTION_AGE_MS, graceMs: CONNECTION_GRACE_MS } } = deps
  const ends = new Set<() => void>()

  function keep(stream: { on: (event: 'close', listener: () => void) => unknown }, end: () => void) {
    ends.add(end)
    stream.on('close', () => ends.delete(end))
  }

  async function answerLookUp(sha256: Buffer, callback: sendUnaryData<LookUpKeyResponse>) {
    try {
      const key = await deps.lookUps.submit(sha256)
      callback(null, key === null ? { found: false } : { found: true, key: toKeyMessage(key) })
    } catch (error) {
      log.warn({ err: error }, 'a key could not be looked up')
      callback({ code: status.UNAVAILABLE, details: 'the database did not answer' })
    }
  }

  const handlers: BillingHandlers = {
    ...serveCallers({ db: deps.callersDb, nowMs, log }),

    Money(stream) {
      keep(stream, serveMoney(stream, deps))
    },

    LookUpKey({ request }, callback) {
      void answerLookUp(request.keySha256, callback)
    },

    WatchKeys(stream: ServerWritableStream<WatchKeysRequest__Output, KeyChanges>) {
      const { sinceVersion } = stream.request
      let since = sinceVersion === '0' ? null : BigInt(sinceVersion)
      let first = true
      const next = async () => {
        const { version, ...changes } = await readKeyChanges(pool, since, nowMs())
        const isNews = first || changes.resync || changes.keys.length > 0
        first = false
        since = version
        return isNews ? toKeyChangesMessage(changes, version) : null
      }
      const subscribe = (onChange: () => void) => versions.subscribe('keys', onChange)
      keep(stream, serveWatch(stream, { subscribe, next, log }))
    },

    WatchCatalog(stream: ServerWritableStream<WatchCatalogRequest__Output, Catalog>) {
      let sent: bigint | null = null
      const next = async () => {
        const { version, models } = await readCatalog(pool, nowMs())
        if (version === sent) return null
        sent = version
        return toCatalogMessage(models, version)
      }
      const subscribe = (onChange: () => void) => versions.subscribe('catalog', onChange)
      keep(stream, serveWatch(stream, { subscribe, next, log }))
    },
  }

  const server = new Server({
    ...SERVER_OPTIONS,
    'grpc.max_connection_age_ms': connections.ageMs,
    'grpc.max_connection_age_grace_ms': connections.graceMs,
  })
  const { service } = loadProto<ProtoGrpcType>('billing.proto').millrace.billing.Billing
  server.addService(service, handlers)
  return {
    server,
    endStreams() {
      for (const end of ends) end()
    },
  }
}
