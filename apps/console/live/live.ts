import type { Logger } from '#libs/telemetry/logger.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import { parseViewName } from '#libs/live-view/addresses.ts'
import { observeBus, type BusServer } from './observe-bus.ts'
import { createPicture, type Picture } from './picture.ts'
import { createQueueReader, type QueueReader } from './read-queues.ts'
import { createViewStreams, type ViewStreams } from './stream-views.ts'

/** The live picture, kept up to date. */
export type Live = {
  readonly picture: Pick<Picture, 'now' | 'workers' | 'requests' | 'model' | 'rows'>
  readonly queues: Pick<QueueReader, 'commands'>
  readonly streams: Pick<ViewStreams, 'add' | 'viewers'>
  /** Somebody reads it once: it is watched for some seconds more. Resolves when it is complete. */
  touch(): Promise<void>
  /** The last answer of the queue Redis is not old. */
  isComplete(): boolean
  stop(): void
}

const TICK_MS = 1_000
const QUEUES_UNWATCHED_MS = 5_000
const MEMORY_MS = 10_000
/** How long one read counts as watching: so that a script that repeats it has fresh numbers. */
const TOUCHED_MS = 10_000
/** After this every process has sent its signals, and its report, since the watching began. */
const WARM_MS = 2_500

export async function startLive(deps: {
  servers: readonly BusServer[]
  queue: RedisClient
  nowMs: () => number
  unixMs: () => number
  log: Logger
}): Promise<Live> {
  const { servers, queue, nowMs, unixMs, log } = deps
  const picture = createPicture({ nowMs, unixMs })
  const observer = await observeBus({ servers, picture, log })
  const queues = createQueueReader({ redis: queue, log })
  const streams = createViewStreams({
    read(name) {
      const view = parseViewName(name)
      if (view === 'workers') return picture.workers()
      if (view === 'requests') return picture.requests()
      return view === null || view === 'now' ? picture.now() : picture.model(view.slice('model:'.length))
    },
    asOf: () => new Date(unixMs()).toISOString(),
  })
  let touchedUntilMs = -Infinity
  let watchedSinceMs: number | null = null
  let reading = false
  let queuesAtMs = -Infinity
  let memoryAtMs = -Infinity

  function follow() {
    const watched = streams.viewers() > 0 || nowMs() < touchedUntilMs
    observer.setWatched(watched)
    if (watched) watchedSinceMs ??= nowMs()
    else watchedSinceMs = null
  }

  async function readQueues() {
    if (reading) return
    const now = nowMs()
    // A timer may be early by a little.
    const pauseMs = watchedSinceMs === null ? QUEUES_UNWATCHED_MS : TICK_MS
    if (now - queuesAtMs < pauseMs - TICK_MS / 2) return
    reading = true
    queuesAtMs = now
    try {
      const found = await queues.read(picture.models())
      if (found !== null) picture.receiveQueues(found)
      if (now - memoryAtMs < MEMORY_MS) return
      memoryAtMs = now
      picture.receiveMemory(await queues.readMemory())
    } finally {
      reading = false
    }
  }

  const timer = setInterval(() => {
    follow()
    picture.tick()
    streams.tick()
    void readQueues()
  }, TICK_MS)
  void readQueues()

  return {
    picture,
    queues,
    streams: {
      viewers: streams.viewers,
      add(view, viewer) {
        const remove = streams.add(view, viewer)
        follow()
        return remove
      },
    },
    async touch() {
      touchedUntilMs = nowMs() + TOUCHED_MS
      follow()
      const leftMs = WARM_MS - (nowMs() - (watchedSinceMs ?? nowMs()))
      if (leftMs <= 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      setTimeout(resolve, leftMs)
      await promise
    },
    isComplete: () => picture.workers().sources.queueAwayMs === 0,
    stop() {
      clearInterval(timer)
      observer.stop()
    },
  }
}
