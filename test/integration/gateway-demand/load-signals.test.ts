import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createLoadSignals } from '#apps/gateway/demand/load-signals.ts'
import { modelStatesChannel } from '#libs/event-bus/channels.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { createRedis } from '../../support/redis.ts'
import { connectScaler } from '../../support/scaler-signals.ts'

const WAIT = { interval: 10 }

/** Opens a gateway's signals and a scaler's connections on one real Redis. */
async function setUp() {
  const redis = await createRedis()
  const log = pino({ level: 'silent' })
  const connect = async (name: string) =>
    await connectRedis({ place: { mode: 'single', url: redis.url }, name, patience: 'patient', log })
  const [bus, subscriber] = [await connect('bus'), await connect('bus-subscriber')]
  const clock = { nowMs: 0 }
  const scaler = await connectScaler(redis.url)
  const signals = await createLoadSignals({
    bus,
    subscriber,
    gateway: 'gateway-1',
    openStreams: () => 7,
    nowMs: () => clock.nowMs,
    log,
  })
  onTestFinished(async () => {
    signals.close()
    scaler.stop()
    bus.disconnect()
    subscriber.disconnect()
    await redis.stop()
  })
  return { redis, bus, scaler, signals, clock }
}

test('a scaler receives the demand with each tick, and a refusal for want of a worker without one', async () => {
  const { scaler, signals } = await setUp()
  signals.demand.count({ model: 'served', isRepeated: false, outcome: 'accepted' })
  signals.demand.wait('served', 12)
  signals.demand.count({ model: 'zero', isRepeated: true, outcome: 'unserved' })
  await expect.poll(() => scaler.demands, WAIT).toHaveLength(1)
  expect(scaler.demands[0]).toMatchObject({
    id: 'gateway-1',
    openStreams: 7,
    loopDelayMs: expect.any(Number),
    models: {
      served: { fresh: 1, waitingTokens: 12, unservedAgoMs: null },
      zero: { repeated: 1, refused: 1, unserved: 1, unservedAgoMs: 0 },
    },
  })
  signals.tick()
  await expect.poll(() => scaler.demands, WAIT).toHaveLength(2)
})

test('the states that a scaler publishes are known until they are old; what cannot be read is dropped', async () => {
  const { bus, scaler, signals, clock } = await setUp()
  for (const text of [
    '',
    'no JSON',
    '{"term":9}',
    '{"term":9,"models":[{"model":"zero","state":"asleep"}]}',
  ]) {
    await bus.publish(modelStatesChannel(), text)
  }
  await scaler.publishState('zero', { etaMs: 30_000 })
  await expect.poll(() => signals.modelStates.find('zero'), WAIT).toMatchObject({ etaMs: 30_000 })
  clock.nowMs = 5_000
  expect(signals.modelStates.find('zero')).toBeNull()
})

test('a bus that is away costs the messages, not the gateway: the next one has all counts', async () => {
  const { redis, bus, scaler, signals, clock } = await setUp()
  await redis.stop()
  signals.demand.count({ model: 'zero', isRepeated: false, outcome: 'unserved' })
  await redis.start()
  await bus.ping()
  clock.nowMs = 1_000
  const received = async () => {
    signals.tick()
    return scaler.demands.at(-1)?.models['zero']?.unserved
  }
  await expect.poll(received, WAIT).toBe(1)
})
