import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { RedisServerPlace } from '#libs/config/redis-fields.ts'
import { HEARTBEAT_CHANNEL } from '#libs/event-bus/channels.ts'
import { BEAT_MS, Heartbeat } from '#libs/event-bus/presence.ts'
import { sendDrain } from '#libs/event-bus/worker-control.ts'
import { openRedis } from '#libs/redis/connect-redis.ts'
import { createLogger } from '#libs/telemetry/logger.ts'
import { CommandError } from './command-error.ts'

/** The messages between the processes of a cluster. Every function throws a CommandError when the bus is not reached. */
export type Bus = {
  /** The workers that are heard within two heartbeats, by name. */
  listWorkers(): Promise<readonly Heartbeat[]>
  /** Asks a worker to drain; resolves with whether its heartbeats show soon that it takes nothing more. */
  drain(id: string): Promise<boolean>
}

const LISTEN_MS = 2 * BEAT_MS

export function createBus(places: readonly RedisServerPlace[]): Bus {
  const log = createLogger('ctl', 'silent')

  /** Listens to the heartbeats of workers while `work` runs. */
  async function listen<Result>(
    onWorker: (worker: Heartbeat) => void,
    work: (publishers: readonly Redis[]) => Promise<Result>,
  ): Promise<Result> {
    const opened = places.map((place) => ({
      publisher: openRedis({ place, name: 'ctl', patience: 'bounded', log }),
      subscriber: openRedis({ place, name: 'ctl-subscriber', patience: 'bounded', log }),
    }))
    // What a command fails with says only that it was tried often enough.
    let problem: unknown = null
    for (const { subscriber } of opened) subscriber.on('error', (error) => (problem = error))
    try {
      for (const { subscriber } of opened) {
        subscriber.on('message', (_channel, text) => {
          const heartbeat = readHeartbeat(text)
          if (heartbeat?.kind === 'worker') onWorker(heartbeat)
        })
        await subscriber.subscribe(HEARTBEAT_CHANNEL)
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

  return {
    async listWorkers() {
      const workers = new Map<string, Heartbeat>()
      await listen(
        (worker) => workers.set(worker.id, worker),
        async () => await sleep(LISTEN_MS),
      )
      return [...workers.values()].toSorted((a, b) => (`${a.name} ${a.id}` < `${b.name} ${b.id}` ? -1 : 1))
    },
    async drain(id) {
      const { promise: drained, resolve } = Promise.withResolvers<true>()
      return await listen(
        (worker) => {
          if (worker.id === id && worker.engines.every(({ ready }) => !ready)) resolve(true)
        },
        async (publishers) => {
          const received = await Promise.all(publishers.map(async (redis) => await sendDrain(redis, id)))
          if (!received.includes(true)) return false
          return await Promise.race([drained, sleep(LISTEN_MS, false)])
        },
      )
    },
  }
}

function readHeartbeat(text: string): Heartbeat | null {
  try {
    return Heartbeat.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
