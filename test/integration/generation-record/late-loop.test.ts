import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createGenerationRecord } from '#libs/generation-record/generation-record.ts'
import { connectRedis, FAIL_FAST_MS } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { createRedis } from '../../support/redis.ts'

async function connect(url: string) {
  const redis = await connectRedis({
    place: { mode: 'single', url },
    name: 'late-loop',
    patience: 'fail-fast',
    log: createLogger('test', 'silent'),
  })
  return { redis, record: createGenerationRecord({ redis, self: 'self-1', graceMs: 60_000 }) }
}

/** Blocks the event loop, as hundreds of requests at once do on a busy machine. */
function blockLoop(ms: number) {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

test('an answer that came while the event loop was blocked is no time-out', async () => {
  const server = await createRedis()
  const { redis, record } = await connect(server.url)
  try {
    const answer = record.readMark(`model-${randomUUID()}`)
    // The command must be sent before the loop is blocked.
    await Promise.resolve()
    blockLoop(FAIL_FAST_MS + 300)
    // The time-out of this command is due. The time-out of the next command must never come, although the machine may
    // be busy.
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    await expect(answer).resolves.toMatchObject({ committedMs: null })
  } finally {
    vi.useRealTimers()
    redis.disconnect()
    await server.stop()
  }
})

test('a server that does not answer is given up after one time-out', async () => {
  const server = await createRedis()
  const { redis, record } = await connect(server.url)
  try {
    server.signal('SIGSTOP')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    let failure: unknown
    record.readMark(`model-${randomUUID()}`).catch((error: unknown) => (failure = error))
    await vi.advanceTimersByTimeAsync(FAIL_FAST_MS - 1)
    expect(failure).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    expect(failure).toMatchObject({ message: 'Command timed out' })
  } finally {
    vi.useRealTimers()
    server.signal('SIGCONT')
    redis.disconnect()
    await server.stop()
  }
})
