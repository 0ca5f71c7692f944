import type { BusServer } from '#libs/event-bus/scaling-signals.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RedisClient } from '#libs/redis/connect-redis.ts'
import type { Parts } from '#libs/live-view/deltas.ts'
import { observeBus } from './observe-bus.ts'
import { createPicture, type Picture } from './picture.ts'
import { createQueueReader, type QueueReader } from './read-queues.ts'
import { createViewStreams, type ViewStreams } from './stream-views.ts'

/** The live picture, with the timers and connections that keep it up to date. */
export type Live = {
  readonly picture: Pick<Picture, 'rows'>
  /** Returns a whole view, its histories included. */
  read(view: string): Parts
  readonly queues: Pick<QueueReader, 'commands'>
  readonly streams: Pick<ViewStreams, 'add' | 'viewers'>
  /**
   * Must be called before a single read of the live picture; a stream needs no such call. The picture then counts as
   * watched for 10 s, so all processes of the cluster send their signals and reports. Resolves when every process has
   * had time to send them.
   */
  touch(): Promise<void>
  /** True if the queue Redis has answered recently. */
  isComplete(): boolean
  stop(): void
}

const TICK_MS = 1_000
/** How often rows are computed. While nobody watches, signals come only for a moment every 15 s. */
const TICK_EVERY_MS = { watched: TICK_MS, unwatched: 5_000 }
/** How often queues are read; while watched, as often as gateways report. */
const QUEUES_EVERY_MS = { watched: 2_000, unwatched: 5_000 }
const MEMORY_MS = 10_000
/** The cluster counts as watched for this long after one read, so that a script that polls gets fresh numbers. */
const TOUCHED_MS = 10_000
/** Within this time after watching began, every process has sent its signals and its report. */
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
  const { read, readHistories } = createViews(picture)
  const streams = createViewStreams({ read, readHistories, asOf: () => new Date(unixMs()).toISOString() })
  let touchedUntilMs = -Infinity
  let watchedSinceMs: number | null = null
  let reading = false
  let queuesAtMs = -Infinity
  let tickedMs = -Infinity
  let memoryAtMs = -Infinity

  function follow() {
    const watched = streams.viewers() > 0 || nowMs() < touchedUntilMs
    observer.setWatched(watched)
    if (watched) watchedSinceMs ??= nowMs()
    else watchedSinceMs = null
  }

  /** Returns true already half a tick before the time is over, because a timer may fire early. */
  const isDue = (lastMs: number, everyMs: { watched: number; unwatched: number }) =>
    nowMs() - lastMs >= (watchedSinceMs === null ? everyMs.unwatched : everyMs.watched) - TICK_MS / 2

  function tick() {
    tickedMs = nowMs()
    picture.tick()
    streams.tick()
  }

  async function readQueues() {
    const now = nowMs()
    if (reading || !isDue(queuesAtMs, QUEUES_EVERY_MS)) return
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
    if (isDue(tickedMs, TICK_EVERY_MS)) tick()
    void readQueues()
  }, TICK_MS)
  void readQueues()

  return {
    picture,
    read: (view) => ({ ...read(view), ...readHistories(view) }),
    queues,
    streams: {
      viewers: streams.viewers,
      add(view, viewer) {
        // While nobody watches, the rows may be 5 s old.
        if (watchedSinceMs === null) tick()
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

/** Returns the views of a picture by name. Any other name means `now`. */
function createViews(picture: Picture): { read(name: string): Parts; readHistories(name: string): Parts } {
  const toModel = (name: string) => (name.startsWith('model:') ? name.slice('model:'.length) : null)
  return {
    read(name) {
      if (name === 'workers') return picture.workers()
      if (name === 'requests') return picture.requests()
      const model = toModel(name)
      return model === null ? picture.now() : picture.model(model)
    },
    readHistories(name) {
      if (name === 'workers' || name === 'requests') return {}
      const model = toModel(name)
      return model === null ? picture.nowHistories() : picture.modelHistories(model)
    },
  }
}
