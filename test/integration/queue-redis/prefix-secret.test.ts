import { expect, onTestFinished, test } from 'vitest'
import { prefixSecretKey } from '#libs/queue-redis/keys.ts'
import { readPrefixSecret } from '#libs/queue-redis/prefix-secret.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { createRedis } from '../../support/redis.ts'

test('workers that start together use one secret, and another one only after Redis has lost it', async () => {
  const server = await createRedis()
  onTestFinished(server.stop)
  const connect = async () => {
    const place = { mode: 'single', url: server.url } as const
    const log = createLogger('worker', 'silent')
    const redis = await connectRedis({ place, name: 'test', patience: 'patient', log })
    onTestFinished(() => redis.disconnect())
    return redis
  }
  const workers = [await connect(), await connect(), await connect()] as const
  const secrets = new Set(await Promise.all(workers.map(readPrefixSecret)))
  expect(secrets.size).toBe(1)
  const [secret = ''] = secrets
  expect(secret).toMatch(/^[\w-]{43}$/)
  await workers[0].del(prefixSecretKey())
  expect(await readPrefixSecret(workers[1])).not.toBe(secret)
})
