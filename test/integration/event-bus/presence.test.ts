import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { heartbeatChannel } from '#libs/event-bus/channels.ts'
import { livenessKey } from '#libs/queue-redis/keys.ts'
import { toEngine } from '../../support/heartbeats.ts'
import { createCluster, heartbeatOf, LONG, TTL_MS, type Member } from './presence-cluster.ts'

test.concurrent('processes receive the heartbeats of the other kind, and one that crashes is reported dead to those', async ({
  expect,
  onTestFinished,
}) => {
  const { join } = await createCluster(onTestFinished)
  const [gateway, worker, colleague] = [await join('gateway'), await join('worker'), await join('worker')]
  const peersOf = ({ presence }: Member) =>
    presence
      .peers()
      .map(({ id }) => id)
      .toSorted()
  await expect
    .poll(() => [peersOf(gateway), peersOf(worker)])
    .toEqual([[worker.id, colleague.id].toSorted(), [gateway.id]])
  worker.crash()
  await expect.poll(() => gateway.deaths).toEqual([[worker.id, 'worker']])
  expect(peersOf(gateway)).toEqual([colleague.id])
  expect(gateway.presence.buried()).toEqual([])
  expect(colleague.deaths).toEqual([])
})

test.concurrent('a process receives the heartbeats of the other kind and its own echo, and of its own kind only on request', async ({
  expect,
  onTestFinished,
}) => {
  const { join } = await createCluster(onTestFinished)
  const gateways = await Promise.all(Array.from({ length: 3 }, async () => await join('gateway')))
  const workers = await Promise.all(Array.from({ length: 5 }, async () => await join('worker')))
  const kinds = [
    [gateways, workers],
    [workers, gateways],
  ] as const
  const all = [...gateways, ...workers]
  await Promise.all(all.map(async ({ beats }) => await beats(LONG)))
  for (const [members, others] of kinds) {
    for (const { presence, received, messages, echoes } of members) {
      expect(ids(presence.peers())).toEqual(ids(others))
      expect(new Set(received.map(({ kind }) => kind)).size).toBe(1)
      // No other message reaches this process.
      expect(messages()).toBe(received.length + echoes())
    }
  }

  const [worker] = workers
  const ignoreOwnKind = worker?.presence.receiveOwnKind()
  await expect
    .poll(() => ids(worker?.presence.peers() ?? []))
    .toEqual(ids(all.filter(({ id }) => id !== worker?.id)))
  ignoreOwnKind?.()
  await expect.poll(() => ids(worker?.presence.peers() ?? [])).toEqual(ids(gateways))
  expect(all.flatMap(({ deaths }) => deaths)).toEqual([])
})

test.concurrent('a gateway is given longer than a worker; dead it is buried, until it is heard again', async ({
  expect,
  onTestFinished,
}) => {
  const { join, byHand } = await createCluster(onTestFinished)
  const member = await join('worker')
  const gateway = byHand('gateway')
  await gateway.live()
  await gateway.beat()
  const seenMs = Date.now()
  await expect.poll(() => member.deaths).toEqual([[gateway.id, 'gateway']])
  expect(Date.now() - seenMs).toBeGreaterThanOrEqual(2 * TTL_MS)
  expect(member.presence.buried()).toEqual([gateway.id])
  await gateway.live()
  await gateway.beat()
  await expect.poll(() => member.presence.buried()).toEqual([])
  expect(member.presence.peers().map(({ id }) => id)).toEqual([gateway.id])
})

test.concurrent('a process that was never heard dies only if its key is missing twice', async ({
  expect,
  onTestFinished,
}) => {
  const { join, byHand } = await createCluster(onTestFinished)
  const member = await join('worker')
  const [starting, gone, suspected] = [byHand('gateway'), byHand('gateway'), randomUUID()]
  await member.beats(8)
  await starting.live(20_000)
  const askedMs = Date.now()
  member.presence.watch(starting.id)
  member.presence.watch(gone.id)
  member.presence.suspect(suspected)
  await expect.poll(() => member.deaths).toHaveLength(2)
  expect(Date.now() - askedMs).toBeGreaterThanOrEqual(2_000)
  expect(new Set(member.deaths.map(([id]) => id))).toEqual(new Set([gone.id, suspected]))
  expect(new Set(member.presence.buried())).toEqual(new Set([gone.id, suspected]))
  // Several messages to a dead process reach no subscriber. Its death is reported once.
  member.presence.suspect(suspected)
  // After `unwatch`, the process's death is not reported.
  member.presence.unwatch(starting.id)
  await starting.dropKey()
  await member.beats(LONG)
  expect(member.deaths).toHaveLength(2)
})

test.concurrent('no process is judged before this one has listened for long enough', async ({
  expect,
  onTestFinished,
}) => {
  const { join, byHand } = await createCluster(onTestFinished)
  const listenFirstMs = 4_000
  const fromMs = Date.now()
  const member = await join('gateway', { listenFirstMs })
  const worker = byHand('worker')
  await worker.beat()
  member.presence.watch(worker.id)
  member.presence.suspect(worker.id)
  await expect.poll(() => member.deaths).toEqual([[worker.id, 'worker']])
  expect(Date.now() - fromMs).toBeGreaterThanOrEqual(listenFirstMs)
})

test.concurrent('a key that is missing kills no process whose heartbeats arrive, as after a failover', async ({
  expect,
  onTestFinished,
}) => {
  const { join, byHand } = await createCluster(onTestFinished)
  const member = await join('gateway')
  const worker = byHand('worker')
  for (let beat = 0; beat < LONG; beat += 1) {
    await worker.beat()
    member.presence.suspect(worker.id)
    await member.beats(1)
  }
  expect(member.deaths).toEqual([])
  // It still notices a death afterwards.
  await expect.poll(() => member.deaths).toEqual([[worker.id, 'worker']])
})

test.concurrent('a full queue Redis kills no process: keys are still written', async ({
  expect,
  onTestFinished,
}) => {
  const { queue, connect, join } = await createCluster(onTestFinished)
  const member = await join('gateway')
  const worker = await join('worker')
  await member.beats(2)
  const store = connect(queue)
  await store.config('SET', 'maxmemory', '1')
  await expect(store.set('anything', 1)).rejects.toThrow('OOM')
  await member.beats(LONG)
  expect(await store.exists(livenessKey('gateway', member.id), livenessKey('worker', worker.id))).toBe(2)
  expect([...member.deaths, ...worker.deaths]).toEqual([])
})

test.concurrent('a queue Redis that restarts empty kills no process', async ({ expect, onTestFinished }) => {
  const { queue, connect, join } = await createCluster(onTestFinished)
  const [gateway, worker] = [await join('gateway'), await join('worker')]
  await worker.beats(2)
  await connect(queue).flushall()
  await queue.kill()
  await worker.beats(LONG)
  await queue.start()
  const store = connect(queue)
  await expect.poll(async () => await store.exists(livenessKey('worker', worker.id))).toBe(1)
  await worker.beats(LONG)
  expect([...gateway.deaths, ...worker.deaths]).toEqual([])
})

test.concurrent('a bus that restarts kills no process, and each process knows for how long it was away', async ({
  expect,
  onTestFinished,
}) => {
  const { bus, join } = await createCluster(onTestFinished)
  const [gateway, worker] = [await join('gateway'), await join('worker')]
  await worker.beats(2)
  expect(worker.presence.busAwayMs()).toBe(0)
  await bus.kill()
  gateway.presence.suspect(worker.id)
  const busAwayMs = () => [gateway, worker].map(({ presence }) => presence.busAwayMs())
  await expect.poll(() => Math.min(...busAwayMs())).toBeGreaterThan(3_000)
  await bus.start()
  await worker.beats(LONG)
  await expect.poll(busAwayMs).toEqual([0, 0])
  expect([...gateway.deaths, ...worker.deaths]).toEqual([])
})

test.concurrent('after either Redis was away, a silent process without a key gets its whole time again', async ({
  expect,
  onTestFinished,
}) => {
  const { queue, bus, connect, join, byHand } = await createCluster(onTestFinished)
  const member = await join('worker')
  const gateway = byHand('gateway')
  await member.beats(LONG)
  await gateway.beat()
  await queue.kill()
  await member.beats(LONG)
  await queue.start()
  const store = connect(queue)
  await expect.poll(async () => await store.exists(livenessKey('worker', member.id))).toBe(1)
  await member.beats(2)
  await gateway.live(60_000)
  await member.beats(LONG)
  expect(member.deaths).toEqual([])

  await gateway.beat()
  await gateway.dropKey()
  await bus.kill()
  await expect.poll(() => member.presence.busAwayMs()).toBeGreaterThan(0)
  await bus.start()
  await member.beats(2)
  await gateway.beat()
  await member.beats(2)
  expect(member.deaths).toEqual([])
  await expect.poll(() => member.deaths).toEqual([[gateway.id, 'gateway']])
})

test.concurrent('a subscription that receives nothing is opened again', async ({
  expect,
  onTestFinished,
}) => {
  const { bus, join } = await createCluster(onTestFinished)
  const member = await join('worker')
  await member.beats(2)
  const failures: unknown[] = []
  member.subscriber.on('error', (error) => failures.push(error))
  bus.signal('SIGSTOP')
  await expect.poll(() => member.subscriber.status).not.toBe('ready')
  // The subscriber opened the connection again. The connection had not failed by itself, with 'Socket timeout' after 15
  // s.
  expect(failures).toEqual([])
  bus.signal('SIGCONT')
  await member.beats(2)
  expect(member.presence.busAwayMs()).toBe(0)
})

test.concurrent('alive by its key but silent: cut off, once for each silence', async ({
  expect,
  onTestFinished,
}) => {
  const { join, byHand } = await createCluster(onTestFinished)
  const member = await join('worker', { cutOffMs: 1_500 })
  const gateway = byHand('gateway')
  for (let silence = 1; silence <= 2; silence += 1) {
    await gateway.live(60_000)
    await gateway.beat()
    await gateway.live(1_000)
    await expect
      .poll(async () => {
        await gateway.live(1_000)
        return member.cutOffs
      })
      .toHaveLength(silence)
    for (let beat = 0; beat < LONG; beat += 1) {
      await gateway.live()
      await member.beats(1)
    }
  }
  expect(member.cutOffs).toEqual([
    [gateway.id, 'gateway'],
    [gateway.id, 'gateway'],
  ])
  expect(member.deaths).toEqual([])
})

test.concurrent('other kinds are not heard; fields of other releases are ignored', async ({
  expect,
  onTestFinished,
}) => {
  const { bus, connect, join } = await createCluster(onTestFinished)
  const member = await join('gateway')
  const hand = connect(bus)
  const channel = heartbeatChannel('worker')
  const send = async (heartbeat: object) => await hand.publish(channel, JSON.stringify(heartbeat))
  await hand.publish(channel, 'rubbish')
  await send({ ...heartbeatOf('of-another-kind', 'worker'), kind: 'oracle' })
  await send(heartbeatOf('of-a-gateway', 'gateway'))
  const engine = toEngine()
  const known = { ...heartbeatOf('newer', 'worker'), engines: [engine] }
  await send({ ...known, load: 0.5, engines: [{ ...engine, temperature: 80 }] })
  await expect.poll(() => member.presence.peers()).toEqual([known])
  expect(member.received).toEqual([known])
})

test.concurrent('leaving deletes the liveness key at once', async ({ expect, onTestFinished }) => {
  const { queue, connect, join } = await createCluster(onTestFinished)
  const member = await join('gateway')
  const store = connect(queue)
  expect(await store.pttl(livenessKey('gateway', member.id))).toBeGreaterThan(TTL_MS)
  await member.presence.stop()
  expect(await store.exists(livenessKey('gateway', member.id))).toBe(0)
})

// This test does not run beside others, because it blocks the event loop.
test('a process that stalls takes no other for dead, nor the bus for away', async ({ onTestFinished }) => {
  const { join, byHand } = await createCluster(onTestFinished)
  const member = await join('gateway')
  const worker = byHand('worker')
  for (let beat = 0; beat < 5; beat += 1) {
    await worker.live()
    await worker.beat()
    await member.beats(1)
  }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500)
  expect(member.presence.busAwayMs()).toBe(0)
  await member.beats(1)
  await worker.live()
  await worker.beat()
  await member.beats(1)
  expect(member.deaths).toEqual([])
  // It still notices a death afterwards.
  await expect.poll(() => member.deaths).toEqual([[worker.id, 'worker']])
})

const ids = (processes: readonly { readonly id: string }[]) => processes.map(({ id }) => id).toSorted()
