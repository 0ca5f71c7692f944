import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createJobQueue } from '#libs/job-queue/job-queue.ts'
import { connectRedis, openRedis, withNextWrite, type RedisPatience } from '#libs/redis/connect-redis.ts'
import { watchTlsConnections } from '#libs/redis/watch-tls-connections.ts'
import { createAuthority, type TestAuthority } from '../../support/certificates.ts'
import { redisKnowsTls } from '../../support/local-servers.ts'
import { queuedJob } from '../../support/generation-job.ts'
import { createRedis, type TestRedis } from '../../support/redis.ts'
import { createSecureRedis, SECURE_USER } from '../../support/secure-redis.ts'
import { until } from '../../support/until.ts'

const log = pino({ level: 'silent' })

let server: TestRedis

beforeAll(async () => {
  server = await createRedis()
})
afterAll(async () => {
  await server.stop()
})

function options(patience: RedisPatience) {
  return { place: { mode: 'single', url: server.url }, name: 'test', patience, log } as const
}

/** Freezes the server: it answers nothing until it receives SIGCONT, or until the end of the test. */
function freeze(): void {
  server.signal('SIGSTOP')
  onTestFinished(() => server.signal('SIGCONT'))
}

test('waits for a server that is away, without a limit', async () => {
  await server.stop()
  let isConnected = false
  const failures: unknown[] = []
  const redis = openRedis(options('fail-fast'))
  redis.on('error', (error) => failures.push(error))
  const connecting = connectRedis(options('fail-fast')).then((connected) => {
    isConnected = true
    return connected
  })
  await until(async () => await Promise.resolve(failures.length >= 3))
  expect(isConnected).toBe(false)
  await server.start()
  expect(await (await connecting).ping()).toBe('PONG')
  ;(await connecting).disconnect()
  redis.disconnect()
})

test('a server is reached by its IPv6 address', async () => {
  const redis = await connectRedis(options('bounded'))
  onTestFinished(() => redis.disconnect())
  await redis.config('SET', 'bind', '127.0.0.1 ::1')
  const url = server.url.replace('127.0.0.1', '[::1]')
  const six = await connectRedis({ ...options('bounded'), place: { mode: 'single', url } })
  onTestFinished(() => six.disconnect())
  expect(await six.client('INFO')).toContain('laddr=[::1]:')
})

test('commands of one turn are one write', async () => {
  const redis = await connectRedis(options('fail-fast'))
  onTestFinished(() => redis.disconnect())
  const { stream } = redis
  const [single, several] = [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev')]
  const later = Promise.resolve().then(async () => await redis.set('turn', 'x'))
  const answers = [redis.ping(), redis.incr('turns'), later, redis.get('turn')]
  expect(await Promise.all(answers)).toEqual(['PONG', 1, 'OK', null])
  expect(several).toHaveBeenCalledOnce()
  expect(single).not.toHaveBeenCalled()
  expect(await redis.get('turn')).toBe('x')
  expect(single).toHaveBeenCalledOnce()

  // At most 16 KiB of commands are gathered.
  several.mockClear()
  const long = Array.from({ length: 8 }, async (_, i) => await redis.set(`long ${i}`, 'x'.repeat(6_000)))
  expect(await Promise.all(long)).toEqual(long.map(() => 'OK'))
  expect(several).toHaveBeenCalledTimes(3)
})

test('a command that may wait goes out with the next one, and alone after 20 ms', async () => {
  const redis = await connectRedis(options('fail-fast'))
  onTestFinished(() => redis.disconnect())
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { stream } = redis
  const [single, several] = [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev')]

  const first = withNextWrite(redis, async () => await redis.incr('waits'))
  const second = withNextWrite(redis, async () => await redis.incr('waits'))
  await setImmediate()
  expect(single).not.toHaveBeenCalled()
  expect(await Promise.all([redis.ping(), first, second])).toEqual(['PONG', 1, 2])
  expect(several).toHaveBeenCalledOnce()
  expect(vi.getTimerCount()).toBe(0)

  const alone = withNextWrite(redis, async () => await redis.incr('waits'))
  await setImmediate()
  vi.advanceTimersByTime(19)
  expect(single).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(await alone).toBe(3)
  expect(single).toHaveBeenCalledOnce()

  // After another command of the same turn, this command is sent with it at once.
  const joined = [redis.ping(), withNextWrite(redis, async () => await redis.incr('waits'))]
  expect(await Promise.all(joined)).toEqual(['PONG', 4])

  const lost = withNextWrite(redis, async () => await redis.incr('waits'))
  // The fake timer of this command never fires, so the lost connection stays corked.
  vi.useRealTimers()
  redis.stream.destroy()
  await expect(lost).rejects.toThrow('Reached the max retries')
  await once(redis, 'ready')
  const again = [withNextWrite(redis, async () => await redis.incr('waits')), redis.ping()]
  expect(await Promise.all(again)).toEqual([5, 'PONG'])
  expect(await withNextWrite(redis, async () => await redis.incr('waits'))).toBe(6)
})

test('a frozen server: fail-fast rejects in half a second, patient answers when it goes on', async () => {
  const failFast = await connectRedis(options('fail-fast'))
  const patient = await connectRedis(options('patient'))
  onTestFinished(() => [failFast, patient].forEach((redis) => redis.disconnect()))
  freeze()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const answer = patient.ping()
  let failure: unknown
  failFast.ping().catch((error: unknown) => (failure = error))
  await vi.advanceTimersByTimeAsync(499)
  expect(failure).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1)
  expect(failure).toMatchObject({ message: 'Command timed out' })
  vi.useRealTimers()
  server.signal('SIGCONT')
  expect(await answer).toBe('PONG')
})

test.each<RedisPatience>(['fail-fast', 'bounded', 'patient'])(
  'a server that is a replica now is left: %s',
  async (patience) => {
    const redis = await connectRedis(options(patience))
    const admin = await connectRedis(options('patient'))
    await admin.replicaof('127.0.0.1', 1)
    const closed = once(redis, 'close')
    await expect(redis.set('key', 1)).rejects.toThrow('READONLY')
    await closed
    await admin.replicaof('NO', 'ONE')
    await until(
      async () =>
        await redis.set('key', 1).then(
          () => true,
          () => false,
        ),
    )
    redis.disconnect()
    admin.disconnect()
  },
)

test('an error of a script is not taken for the end of a master', async () => {
  const redis = await connectRedis(options('fail-fast'))
  const id = await redis.client('ID')
  await expect(redis.eval("return redis.error_reply('ERR READONLY')", 0)).rejects.toThrow('READONLY')
  expect(await redis.client('ID')).toBe(id)
  redis.disconnect()
})

test('jobs of a model are refused while Redis is away, and taken when it is back', async () => {
  const redis = await connectRedis(options('fail-fast'))
  const jobs = createJobQueue({ redis, countWaiting: createCountWaiting(redis) })
  freeze()
  await expect(jobs.add(queuedJob('first'))).rejects.toThrow('Command timed out')
  server.signal('SIGCONT')
  await until(
    async () =>
      await jobs.add(queuedJob('first')).then(
        () => true,
        () => false,
      ),
  )

  const closed = once(redis, 'close')
  await server.stop()
  await closed
  await expect(jobs.add(queuedJob('second'))).rejects.toThrow('away')
  await server.start()
  await until(
    async () =>
      await jobs.add(queuedJob('second')).then(
        () => true,
        () => false,
      ),
  )
  await jobs.close()
  redis.disconnect()
})

test.skipIf(!redisKnowsTls()).each<RedisPlace['mode']>(['single', 'sentinel', 'cluster'])(
  'by TLS, as a user of the access list: %s',
  async (mode) => {
    const [authority, trusted] = [createAuthority(), getCACertificates()]
    const secure = await createSecureRedis(authority, mode)
    if (mode === 'cluster') await giveAllSlots(secure.url)

    const sockets: TLSSocket[] = []
    const stopWatching = watchTlsConnections((socket) => sockets.push(socket))
    const stranger = openRedis({ place: secure.place, name: 'test', patience: 'fail-fast', log })
    const failures: unknown[] = []
    for (const event of ['error', 'node error', 'reconnecting']) {
      stranger.on(event, (error) => failures.push(error))
    }
    await until(async () => await Promise.resolve(failures.length >= 2))
    expect(stranger.status).not.toBe('ready')
    stranger.disconnect()
    stopWatching()
    // The server's alert about the refused certificate arrives late, or not at all, so the test raises the error
    // itself.
    const refused = sockets.filter((socket) => socket.errored !== null)
    expect(refused).not.toHaveLength(0)
    for (const socket of refused) socket.emit('error', new Error('tlsv1 alert decode error'))

    trust([...trusted, authority])
    const redis = await connectRedis({ place: secure.place, name: 'test', patience: 'fail-fast', log })
    expect(await redis.set('key', 1)).toBe('OK')
    expect(await redis.call('ACL', 'WHOAMI')).toBe(SECURE_USER)
    redis.disconnect()
    trust(trusted)
    await secure.stop()
  },
)

function trust(certificates: readonly (string | TestAuthority)[]): void {
  setDefaultCACertificates(
    certificates.map((one) => (typeof one === 'string' ? one : readFileSync(one.ca, 'utf8'))),
  )
}

async function giveAllSlots(url: string): Promise<void> {
  const redis = await connectRedis({ place: { mode: 'single', url }, name: 'test', patience: 'patient', log })
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await until(async () => (await redis.cluster('INFO')).includes('cluster_state:ok'))
  redis.disconnect()
}

test('a connection that is closed while it subscribes again leaves no rejection behind', async () => {
  const rejections: unknown[] = []
  const note = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', note)
  onTestFinished(() => void process.off('unhandledRejection', note))
  const admin = await connectRedis(options('patient'))
  onTestFinished(() => admin.disconnect())
  const redis = await connectRedis(options('patient'))
  await redis.subscribe('news')
  const ended = once(redis, 'end')
  redis.once('ready', () => {
    // The frozen server does not answer the subscription that was just sent.
    freeze()
    redis.disconnect()
  })
  // Only the connection is killed, not the server: a failed attempt to connect would be an 'error' of the connection,
  // with which `once` rejects.
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await ended
  await setImmediate()
  expect(rejections).toEqual([])
})

test('a subscription that is refused after a reconnect is reported', async () => {
  const admin = await connectRedis(options('patient'))
  const redis = await connectRedis(options('patient'))
  await redis.subscribe('news')
  const failures: unknown[] = []
  redis.on('error', (error) => failures.push(error))
  await admin.acl('SETUSER', 'default', 'resetchannels')
  await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub')
  // The lost connection, or a late connection, may also be reported as errors.
  await expect
    .poll(() => failures)
    .toContainEqual(expect.objectContaining({ message: expect.stringMatching(/^NOPERM/u) }))
  await admin.acl('SETUSER', 'default', 'allchannels')
  admin.disconnect()
  redis.disconnect()
})
