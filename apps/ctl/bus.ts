import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { RedisServerPlace } from '#libs/config/redis-fields.ts'
import { heartbeatChannel } from '#libs/event-bus/channels.ts'
import { BEAT_MS, readHeartbeat, type Heartbeat } from '#libs/event-bus/heartbeat.ts'
import { CAPACITY, subscribeSignal, type Capacity } from '#libs/event-bus/scaling-signals.ts'
import { sendCordon, sendDrain, sendUncordon } from '#libs/event-bus/worker-control.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { CommandError } from './command-error.ts'
import { listWorkers, type ListedEngine, type ListedWorker } from './list-workers.ts'

/**
 * The bus, over which the processes of a cluster exchange messages. Every function throws a CommandError when the bus
 * cannot be reached.
 */
export type Bus = {
  /** Returns the workers that send a message within two heartbeats, ordered by name. */
  listWorkers(): Promise<readonly ListedWorker[]>
  /**
   * `drain`, `cordon` and `uncordon` send the worker a request. They resolve with its engines once the worker's
   * messages show that it follows the request, and with null when no such message comes within two heartbeats.
   */
  drain(worker: ListedWorker): Promise<readonly ListedEngine[] | null>
  cordon(worker: ListedWorker): Promise<readonly ListedEngine[] | null>
  /** Ends an operator's cordon; a scaler's cordon stays. */
  uncordon(worker: ListedWorker): Promise<readonly ListedEngine[] | null>
}

const LISTEN_MS = 2 * BEAT_MS

/** The last heartbeat of each worker, and the last capacity of each of its models. */
type Seen = { readonly heartbeats: Map<string, Heartbeat>; readonly capacities: Map<string, Capacity> }

export function createBus(places: readonly RedisServerPlace[]): Bus {
  const log = createLogger('ctl', 'silent')

  /** Listens to workers while `work` runs; `onSeen` is called after each message. */
  async function listen<Result>(
    onSeen: (seen: Seen) => void,
    work: (publishers: readonly Redis[], seen: Seen) => Promise<Result>,
  ): Promise<Result> {
    const seen: Seen = { heartbeats: new Map(), capacities: new Map() }
    const opened = places.map((place) => ({
      publisher: openRedis({ place, name: 'ctl', patience: 'bounded', log }),
      subscriber: openRedis({ place, name: 'ctl-subscriber', patience: 'bounded', log }),
    }))
    // A failed command reports only that all retries failed; the error of the connection has the reason.
    let problem: unknown = null
    for (const { subscriber } of opened) subscriber.on('error', (error) => (problem = error))
    try {
      for (const { subscriber } of opened) {
        const heartbeats = heartbeatChannel('worker')
        subscriber.on('message', (channel, text) => {
          const heartbeat = channel === heartbeats ? readHeartbeat(text) : null
          if (heartbeat === null) return
          seen.heartbeats.set(heartbeat.id, heartbeat)
          onSeen(seen)
        })
        await subscriber.subscribe(heartbeats)
        await subscribeSignal({ subscriber, log }, CAPACITY, (capacity) => {
          seen.capacities.set(`${capacity.id} ${capacity.model}`, capacity)
          onSeen(seen)
        })
      }
      return await work(
        opened.map(({ publisher }) => publisher),
        seen,
      )
    } catch (error) {
      const cause = problem ?? error
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new CommandError('unreachable', `The bus Redis does not answer: ${reason}`, { cause })
    } finally {
      for (const { publisher, subscriber } of opened) {
        publisher.disconnect()
        subscriber.disconnect()
      }
    }
  }

  const toList = ({ heartbeats, capacities }: Seen) => listWorkers(heartbeats.values(), capacities.values())

  /** Sends a request and waits until messages that come after it show that every engine of the worker follows it. */
  async function ask(
    worker: ListedWorker,
    send: (redis: Redis, id: string) => Promise<boolean>,
    follows: (engine: ListedEngine) => boolean,
  ): Promise<readonly ListedEngine[] | null> {
    const { promise: followed, resolve } = Promise.withResolvers<readonly ListedEngine[]>()
    let isSent = false
    return await listen(
      (seen) => {
        const engines = toList(seen).find(({ id }) => id === worker.id)?.engines ?? []
        if (isSent && engines.length >= worker.engines.length && engines.every(follows)) resolve(engines)
      },
      async (publishers) => {
        isSent = true
        const received = await Promise.all(publishers.map(async (redis) => await send(redis, worker.id)))
        if (!received.includes(true)) return null
        return await Promise.race([followed, sleep(LISTEN_MS, null)])
      },
    )
  }

  return {
    listWorkers: async () =>
      await listen(
        () => {},
        async (_publishers, seen) => {
          await sleep(LISTEN_MS)
          return toList(seen)
        },
      ),
    async drain(worker) {
      // Workers of older releases do not report their phase.
      const reports = worker.engines.some(({ phase }) => phase !== null)
      return await ask(worker, sendDrain, ({ phase, ready }) => (reports ? phase === 'draining' : !ready))
    },
    cordon: async (worker) =>
      await ask(
        worker,
        async (redis, id) => await sendCordon(redis, id, { term: null, forMs: null }),
        ({ phase }) => phase !== null && phase !== 'ready',
      ),
    uncordon: async (worker) =>
      await ask(
        worker,
        async (redis, id) => await sendUncordon(redis, id, { term: null }),
        ({ phase, cordonTerm }) => phase !== null && (phase !== 'cordoned' || cordonTerm !== null),
      ),
  }
}
