import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { createApiKey } from '#libs/api-key/api-key.ts'
import { chat } from '../support/chat.ts'
import { ADMIN_TOKEN, startCluster } from '../support/cluster.ts'
import { createPostgres, type TestPostgres } from '../support/postgres.ts'
import { createRedis } from '../support/redis.ts'

const secret = (name: string) => `${name}-${randomUUID().replaceAll('-', '')}`

test('no secret is in any log at the level trace, whatever fails', async () => {
  const [databasePassword, redisPassword] = [secret('database'), secret('redis')]
  const receiptSecret = secret('receipt')
  const postgres = await createPostgres()
  const databaseUrl = await createLogin(postgres, databasePassword)
  const redis = await createRedisFor(redisPassword)
  const redisUrls = { QUEUE_REDIS_URL: redis.url, BUS_REDIS_URL: redis.url }
  const cluster = await startCluster({
    logLevel: 'trace',
    billingEnv: { ...redisUrls, DATABASE_URL: databaseUrl, RECEIPT_SECRETS: receiptSecret },
    gatewayEnv: redisUrls,
    workerEnv: redisUrls,
  })
  const account = await cluster.createAccount('10')
  const poor = await cluster.createAccount('0.000000001')
  const revoked = await cluster.createAccount('10')
  await cluster.admin.call(ADMIN.revokeKey, { key: revoked.keyId })
  const rotated = await cluster.admin.call(ADMIN.rotateKey, {
    key: account.keyId,
    overlapSeconds: 3_600,
  })
  const credential = await cluster.admin.call(ADMIN.createCredential, {
    name: 'somebody',
    role: 'support',
  })
  const [unknown, malformed, wrongToken] = [createApiKey(), secret('malformed'), secret('admin-token')]
  const ask = async (apiKey: string) =>
    (await chat({ baseUrl: cluster.baseUrl, apiKey, content: 'Hello' })).status

  for (const apiKey of [account.apiKey, rotated.secret]) expect(await ask(apiKey)).toBe(200)
  expect(await ask(poor.apiKey)).toBe(402)
  for (const apiKey of [revoked.apiKey, unknown, malformed]) expect(await ask(apiKey)).toBe(401)
  const misplaced = await fetch(`${cluster.baseUrl}/models?api_key=${account.apiKey}`)
  expect(misplaced.status).toBe(401)
  const listAs = async (token: string) =>
    (await fetch(`${cluster.adminUrl}/admin/v1/accounts`, { headers: { authorization: `Bearer ${token}` } }))
      .status
  expect(await listAs(credential.token)).toBe(200)
  expect(await listAs(wrongToken)).toBe(401)

  await postgres.stop()
  await expect.poll(() => ask(account.apiKey)).toBe(503)
  await postgres.start()
  await expect.poll(() => ask(account.apiKey)).toBe(200)
  const first = cluster.billing
  await cluster.billing.kill()
  expect(await ask(account.apiKey)).toBe(503)
  expect(await ask(createApiKey())).toBe(503)
  await cluster.restartBilling()
  await redis.kill()
  await expect.poll(() => ask(account.apiKey)).toBe(503)
  await cluster.stop()
  await postgres.stop()

  const processes = [first, cluster.billing, cluster.simulator, ...cluster.workers, ...cluster.gateways]
  const secrets = {
    databasePassword,
    redisPassword,
    receiptSecret,
    adminToken: ADMIN_TOKEN,
    credential: credential.token,
    key: account.apiKey,
    rotatedKey: rotated.secret,
    poorKey: poor.apiKey,
    revokedKey: revoked.apiKey,
    unknown,
    malformed,
    wrongToken,
  }
  for (const running of processes) {
    const log = running.logs()
    expect(log).toContain(`"app":"${running.name}"`)
    expect(Object.entries(secrets).filter(([, value]) => log.includes(value))).toEqual([])
  }
})

/** The URL of a login with this password. */
async function createLogin(postgres: TestPostgres, password: string): Promise<string> {
  const url = new URL(postgres.url('postgres'))
  const client = new Client({ connectionString: url.href })
  await client.connect()
  await client.query(`create role somebody superuser login password '${password}'`)
  await client.end()
  url.username = 'somebody'
  url.password = password
  return url.href
}

/** A Redis with a user of this password. */
async function createRedisFor(password: string) {
  const redis = await createRedis()
  const client = new Redis(redis.url)
  await client.acl('SETUSER', 'cluster', 'on', `>${password}`, '~*', '&*', '+@all')
  client.disconnect()
  const url = new URL(redis.url)
  url.username = 'cluster'
  url.password = password
  return { ...redis, url: url.href }
}
