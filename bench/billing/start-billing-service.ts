import { createAdminClient, type AdminClient } from '#libs/admin-contract/admin-client.ts'
import { createBillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import { freePort } from '#test/support/free-port.ts'
import { startApp } from '#test/support/processes.ts'
import { createRedis } from '#test/support/redis.ts'
import { granted, toReserveCall } from './create-designs.ts'
import { CATALOG_FILE, HOLD_GRACE_MS, RECEIPT_SECRETS } from './open-bench-database.ts'

export type BillingService = {
  /** Makes a reservation over gRPC: see `Designs`. */
  reserve(keyIds: readonly string[]): Promise<boolean>
  /** A client of billing's operators' interface. */
  readonly admin: AdminClient
  stop(): Promise<void>
}

const ADMIN_TOKEN = 'bench-admin-token-0123456789'

/**
 * Starts the billing app in a separate process, on the database at `url`. Opens, in this process, the client with which
 * gateways call billing.
 */
export async function startBillingService(url: string): Promise<BillingService> {
  const redis = await createRedis()
  const address = `127.0.0.1:${await freePort()}`
  const adminPort = await freePort()
  const app = await startApp('billing', {
    DATABASE_URL: url,
    QUEUE_REDIS_URL: redis.url,
    GRPC_LISTEN: address,
    ADMIN_PORT: String(adminPort),
    ADMIN_TOKEN,
    RECEIPT_SECRETS,
    CATALOG_FILE,
    HOLD_GRACE_MS: String(HOLD_GRACE_MS),
  })
  const client = createBillingClient({ address })
  return {
    admin: createAdminClient({ url: `http://127.0.0.1:${adminPort}`, token: ADMIN_TOKEN }),
    async reserve(keyIds) {
      try {
        granted(await client.reserve(toReserveCall(keyIds)))
        return true
      } catch (error) {
        if (error instanceof BillingUnavailable) return false
        throw error
      }
    },
    async stop() {
      client.close()
      await app.stop()
      await redis.stop()
    },
  }
}
