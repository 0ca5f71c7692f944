import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { createApiKey } from '#libs/api-key/api-key.ts'
import { chat } from '../support/chat.ts'
import { ADMIN_TOKEN, startCluster } from '../support/cluster.ts'
import { disturbServers } from '../support/disturb-servers.ts'
import { createPostgres, type TestPostgres } from '../support/postgres.ts'
import { startApp } from '../support/processes.ts'
import { createRedis } from '../support/redis.ts'
import { startChat } from '../support/start-chat.ts'
import { startFakeCluster } from '../integration/scaler/fake-cluster.ts'
import { poolOf, startScaler } from '../integration/scaler/scaler-under-test.ts'

const DATABASE_USER = 'somebody'
const REDIS_USER = 'cluster'

const secret = (name: string) => `${name}-${randomUUID().replaceAll('-', '')}`

/** A word of prompt and answer that must be in no log. It is checked in the pieces in which it may be sent. */
const WORD = 'zanzibar'
const PROMPT = `${`${WORD} `.repeat(40)}[[tokens=4000]]`

test('no secret and no text of a customer is in any log at the level trace, whatever fails', async () => {
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
  const kubernetes = await startFakeCluster(redis.url)
  const scaler = await startScaler({
    redisUrl: redis.url,
    apiUrl: kubernetes.url,
    name: 'secrets',
    pools: [poolOf('secrets-pool')],
    env: { LOG_LEVEL: 'trace' },
  })
  const console_ = await startApp('console', {
    ...redisUrls,
    LOG_LEVEL: 'trace',
    PORT: '0',
    BILLING_ADMIN_URL: cluster.adminUrl,
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
  const message = { model: 'demo-chat', max_tokens: 8, messages: [{ role: 'user', content: WORD }] }
  for (const path of ['/messages', '/messages/count_tokens']) {
    const askAs = async (apiKey: string) =>
      (
        await fetch(cluster.baseUrl + path, {
          method: 'POST',
          headers: { 'x-api-key': apiKey },
          body: JSON.stringify(message),
        })
      ).status
    expect(await askAs(account.apiKey)).toBe(200)
    for (const apiKey of [unknown, malformed]) expect(await askAs(apiKey)).toBe(401)
  }
  const misplaced = await fetch(`${cluster.baseUrl}/models?api_key=${account.apiKey}`)
  expect(misplaced.status).toBe(401)
  const listAs = async (token: string) =>
    (await fetch(`${cluster.adminUrl}/admin/v1/accounts`, { headers: { authorization: `Bearer ${token}` } }))
      .status
  expect(await listAs(credential.token)).toBe(200)
  expect(await listAs(wrongToken)).toBe(401)

  const [gateway, worker] = [cluster.gateways[0], cluster.workers[0]]
  if (gateway === undefined || worker === undefined) throw new Error('one of each was started')
  await disturbServers({
    apps: { gateway, worker, billing: cluster.billing, scaler, console: console_ },
    redisUrl: redis.adminUrl,
    redisUser: { name: REDIS_USER, password: redisPassword },
    databaseUrl: postgres.url('postgres'),
    databaseUser: { name: DATABASE_USER, password: databasePassword },
    async underStream(act) {
      const stream = startChat({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: PROMPT })
      await stream.firstText
      await act()
      stream.hangUp()
      await stream.answer.catch(() => undefined)
    },
    untilServed: async () => await expect.poll(() => ask(account.apiKey)).toBe(200),
  })

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
  await Promise.all([scaler.end(), console_.stop()])
  await kubernetes.close()
  await cluster.stop()
  await postgres.stop()

  const processes = [
    first,
    scaler,
    console_,
    cluster.billing,
    cluster.simulator,
    ...cluster.workers,
    ...cluster.gateways,
  ]
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
    word: WORD,
    partOfIt: WORD.slice(-5),
  }
  for (const running of processes) {
    const log = running.logs()
    expect(log).toContain(`"app":"${running.name}"`)
    expect(Object.entries(secrets).filter(([, value]) => log.includes(value))).toEqual([])
  }
})

/** Creates a login with this password and returns its URL. */
async function createLogin(postgres: TestPostgres, password: string): Promise<string> {
  const url = new URL(postgres.url('postgres'))
  const client = new Client({ connectionString: url.href })
  await client.connect()
  await client.query(`create role ${DATABASE_USER} superuser login password '${password}'`)
  await client.end()
  url.username = DATABASE_USER
  url.password = password
  return url.href
}

/** Starts a Redis with a user that has this password. */
async function createRedisFor(password: string) {
  const redis = await createRedis()
  const client = new Redis(redis.url)
  await client.acl('SETUSER', REDIS_USER, 'on', `>${password}`, '~*', '&*', '+@all')
  client.disconnect()
  const url = new URL(redis.url)
  url.username = REDIS_USER
  url.password = password
  return { ...redis, url: url.href, adminUrl: redis.url }
}
