import type { ServerCredentials } from '@grpc/grpc-js'
import { Registry } from 'prom-client'
import { watchVersions } from '#apps/billing/database/watch-versions.ts'
import type { Lane } from '#apps/billing/lanes/lane.ts'
import { createMoneyLane, type MoneyAnswer, type MoneyRequest } from '#apps/billing/lanes/money-lane.ts'
import { createMetrics } from '#apps/billing/metrics.ts'
import { createBillingService } from '#apps/billing/service.ts'
import { bindGrpc, closeGrpc } from '#libs/grpc/serve-grpc.ts'
import { log, type BillingDatabase } from './billing-database.ts'

export type BillingServer = { address: string; stop(): Promise<void> }

/** One replica's gRPC service. With the `address` of an earlier one it takes that one's place. */
export async function startBillingServer(options: {
  database: BillingDatabase
  address?: string
  credentials?: ServerCredentials
  lane?: Lane<MoneyRequest, MoneyAnswer>
  pollMs?: number
}): Promise<BillingServer> {
  const { database, address = '127.0.0.1:0', pollMs = 60_000 } = options
  const { servicePool: pool, money, url, clock } = database
  const metrics = createMetrics(new Registry(), () => 0)
  const monotonicMs = () => performance.now()
  const lane = options.lane ?? createMoneyLane({ money, log, monotonicMs, onBatch: () => undefined })
  const versions = watchVersions({ url, pool, log, pollMs })
  const nowMs = () => clock.nowMs
  const { server, endStreams } = createBillingService({ pool, lane, versions, metrics, nowMs, log })
  const port = await bindGrpc(server, address, options.credentials)
  return {
    address: `127.0.0.1:${port}`,
    async stop() {
      endStreams()
      await closeGrpc(server, 2_000)
      await versions.close()
    },
  }
}
