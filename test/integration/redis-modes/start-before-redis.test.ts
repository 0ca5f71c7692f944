import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startApp } from '#scripts/servers/start-app.ts'
import { freePort } from '../../support/free-port.ts'
import { createRedis } from '../../support/redis.ts'
import { scratchLog } from '../../support/run-folder.ts'

const WAIT = { interval: 50 }

test('a gateway that starts before Redis waits for it, unready, and goes on when Redis is there', async () => {
  const [redis, bus] = [await createRedis(), await createRedis()]
  await Promise.all([redis.stop(), bus.stop()])
  const [opsPort, port, logFile] = [await freePort(), await freePort(), scratchLog('gateway')]
  const giveUp = new AbortController()
  const starting = startApp({
    app: 'gateway',
    env: {
      QUEUE_REDIS_URL: redis.url,
      BUS_REDIS_URL: bus.url,
      PORT: String(port),
      BILLING_ADDRESS: '127.0.0.1:1',
    },
    opsPort,
    logFile,
    readyLimitMs: 60_000,
    signal: giveUp.signal,
  })
  const reason = async () => await (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).text()
  const failures = () => readFileSync(logFile, 'utf8').split('redis connection failed').length - 1
  await expect.poll(failures, WAIT).toBeGreaterThan(1)
  expect(await reason()).toBe('waiting for the queue Redis\n')
  const metrics = async () => await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text()
  expect(await metrics()).toContain('millrace_redis_up{role="queue"} 0')
  await redis.start()
  await expect.poll(reason, WAIT).toBe('waiting for the bus Redis\n')
  await bus.start()
  await expect.poll(reason, WAIT).toBe('billing has never been reached\n')
  for (const role of ['queue', 'bus']) {
    await expect.poll(metrics, WAIT).toContain(`millrace_redis_up{role="${role}"} 1`)
  }
  await redis.stop()
  await expect.poll(metrics, WAIT).toContain('millrace_redis_up{role="queue"} 0')

  giveUp.abort()
  await expect(starting).rejects.toThrow('aborted')
  await bus.stop()
})
