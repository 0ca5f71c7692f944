import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { DEMAND, publishSignal, type ModelDemand } from '#libs/event-bus/scaling-signals.ts'

export type FakeGateway = {
  /** Counts a request that no worker serves, and sends the demand message at once, like a gateway. */
  refuse(model: string): Promise<void>
  /** Sets the requests per second from now on. All are accepted. */
  setRate(model: string, perSecond: number): void
  setStreams(openStreams: number): void
  stop(): void
}

const NOTHING: ModelDemand = {
  fresh: 0,
  repeated: 0,
  refused: 0,
  unserved: 0,
  waitingTokens: 0,
  unservedAgoMs: null,
}

/** Starts a gateway that only sends demand, like a real one: each second, with counters since its start. */
export function startFakeGateway(redisUrl: string): FakeGateway {
  const redis = new Redis(redisUrl)
  redis.on('error', () => {})
  const id = randomUUID()
  const models = new Map<string, ModelDemand>()
  const rates = new Map<string, number>()
  const refusedAtMs = new Map<string, number>()
  let openStreams = 0
  const demandOf = (model: string) => models.get(model) ?? NOTHING

  async function send() {
    const counters = [...models].map(([model, demand]) => {
      const atMs = refusedAtMs.get(model)
      const unservedAgoMs = atMs === undefined ? null : performance.now() - atMs
      return [model, { ...demand, unservedAgoMs }] as const
    })
    const log = pino({ level: 'silent' })
    const message = { id, openStreams, loopDelayMs: 1, models: Object.fromEntries(counters) }
    await publishSignal({ redis, log }, DEMAND, message)
  }

  const timer = setInterval(() => {
    for (const [model, perSecond] of rates) {
      const demand = demandOf(model)
      models.set(model, { ...demand, fresh: demand.fresh + perSecond })
    }
    void send()
  }, 1_000)

  return {
    async refuse(model) {
      const { fresh, refused, unserved, ...rest } = demandOf(model)
      models.set(model, { ...rest, fresh: fresh + 1, refused: refused + 1, unserved: unserved + 1 })
      refusedAtMs.set(model, performance.now())
      await send()
    },
    setRate(model, perSecond) {
      models.set(model, demandOf(model))
      rates.set(model, perSecond)
    },
    setStreams(streams) {
      openStreams = streams
    },
    stop() {
      clearInterval(timer)
      redis.disconnect()
    },
  }
}
