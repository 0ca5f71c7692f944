import { createAdminClient, type AdminClient } from '#libs/admin-contract/admin-client.ts'
import { ADMIN_TOKEN } from '#test/support/cluster.ts'
import { freePort } from '#test/support/free-port.ts'
import { createBillingDatabase } from '#test/support/billing-template.ts'
import { startApp } from '#test/support/processes.ts'
import { createRedis } from '#test/support/redis.ts'

export type TestBilling = { adminUrl: string; admin: AdminClient; stop(): Promise<void> }

/** Starts only billing, with a database of its own, for tests that change its catalog. */
export async function startBilling(): Promise<TestBilling> {
  const redis = await createRedis()
  const database = await createBillingDatabase()
  const port = await freePort()
  const app = await startApp('billing', {
    DATABASE_URL: database.url,
    QUEUE_REDIS_URL: redis.url,
    GRPC_LISTEN: `127.0.0.1:${await freePort()}`,
    ADMIN_PORT: String(port),
    ADMIN_TOKEN,
    RECEIPT_SECRETS: 'test-receipt-secret-of-32-characters',
    CATALOG_FILE: 'deploy/catalog.demo.json',
  })
  const adminUrl = `http://127.0.0.1:${port}`
  return {
    adminUrl,
    admin: createAdminClient({ url: adminUrl, token: ADMIN_TOKEN }),
    async stop() {
      await app.stop()
      await redis.stop()
      await database.drop()
    },
  }
}
