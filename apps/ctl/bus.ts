import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { RedisServerPlace } from '#libs/config/redis-fields.ts'
import { BEAT_MS, WORKER_BEATS, type WorkerHeartbeat } from '#libs/event-bus/heartbeat.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import { sendCordon, sendDrain, sendUncordon } from '#libs/event-bus/worker-control.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { CommandError } from './command-error.ts'

/**
 * The bus, over which the processes of a cluster exchange messages. Every function throws a CommandError when the bus
 * cannot be reached.
 */
export type Bus = {
  /** Returns the workers that send a heartbeat within twice the pause between heartbeats, ordered by name. */
  listWorkers(): Promise<readonly WorkerHeartbeat[]>
  /**
   * `drain`, `cordon` and `uncordon` send the worker a request. They resolve with a heartbeat of the worker which shows
   * that it follows the request, and with null when no such heartbeat comes within that time.
   */
  drain(worker: string): Promise<WorkerHeartbeat | null>
  cordon(worker: string): Promise<WorkerHeartbeat | null>
  /** Ends an operator's cordon; a scaler's cordon stays. */
  uncordon(worker: string): Promise<WorkerHeartbeat | null>
}

const LISTEN_MS = 2 * BEAT_MS

export function createBus(places: readonly RedisServerPlace[]): Bus {
  const log = createLogger('ctl', 'silent')

  /** Listens to workers while `work` runs. */
  async function listen<Result>(
    onHeartbeat: (worker: WorkerHeartbeat) => void,
    work: (publishers: readonly Redis[]) => Promise<Result>,
  ): Promise<Result> {
    const opened = places.map((place) => ({
      publisher: openRedis({ place, name: 'ctl', patience: 'bounded', log }),
      subscriber: openRedis({ place, name: 'ctl-subscriber', patience: 'bounded', log }),
    }))
    // A failed command reports only that all retries failed; the error of the connection has the reason.
    let problem: unknown = null
    for (const { subscriber } of opened) subscriber.on('error', (error) => (problem = error))
    try {
      for (const { subscriber } of opened) {
        await subscribeSignal({ subscriber, log }, WORKER_BEATS, onHeartbeat)
      }
      return await work(opened.map(({ publisher }) => publisher))
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

  /** Sends a request and waits for a heartbeat after it which shows that the worker follows it. */
  async function ask(
    worker: string,
    send: (redis: Redis, id: string) => Promise<boolean>,
    follows: (heartbeat: WorkerHeartbeat) => boolean,
  ): Promise<WorkerHeartbeat | null> {
    const { promise: followed, resolve } = Promise.withResolvers<WorkerHeartbeat>()
    let isSent = false
    return await listen(
      (heartbeat) => {
        if (isSent && heartbeat.id === worker && follows(heartbeat)) resolve(heartbeat)
      },
      async (publishers) => {
        isSent = true
        const received = await Promise.all(publishers.map(async (redis) => await send(redis, worker)))
        if (!received.includes(true)) return null
        return await Promise.race([followed, sleep(LISTEN_MS, null)])
      },
    )
  }

  return {
    async listWorkers() {
      const seen = new Map<string, WorkerHeartbeat>()
      await listen(
        (worker) => seen.set(worker.id, worker),
        async () => await sleep(LISTEN_MS),
      )
      return [...seen.values()].toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1))
    },
    drain: async (worker) =>
      await ask(worker, sendDrain, ({ engines }) => engines.every(({ phase }) => phase === 'draining')),
    cordon: async (worker) =>
      await ask(
        worker,
        async (redis, id) => await sendCordon(redis, id, { term: null, forMs: null }),
        ({ engines }) => engines.every(({ phase }) => phase !== 'ready'),
      ),
    uncordon: async (worker) =>
      await ask(
        worker,
        async (redis, id) => await sendUncordon(redis, id, { term: null }),
        ({ engines, cordonTerm }) =>
          cordonTerm !== null || engines.every(({ phase }) => phase !== 'cordoned'),
      ),
  }
}
