import type { Redis } from 'ioredis'
import { createPresence, type Presence } from '#libs/event-bus/presence.ts'
import { createEventPublisher, KEEP_BYTES, type EventPublisher } from '#libs/event-bus/publish-events.ts'
import { startReporter, type Report, type Reporter } from '#libs/event-bus/reports.ts'
import type { BusServer } from '#libs/event-bus/scaling-signals.ts'
import { subscribeControl, type ControlHandlers } from '#libs/event-bus/worker-control.ts'
import { toBusServer } from '#libs/redis/bus-server.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

type PresenceOptions = Omit<Parameters<typeof createPresence>[0], 'bus' | 'subscriber' | 'onHeartbeat'>
type PublisherOptions = Pick<Parameters<typeof createEventPublisher>[0], 'onPublish'>

export type WorkerBus = {
  /** The presence on all servers. Each gateway is judged by the heartbeats on its own server. */
  readonly presence: Presence
  readonly publisher: EventPublisher
  /** Returns the server that belongs to this gateway. */
  redisOf(gateway: string): Redis
  /** Sends reports for operators on every server, until it is stopped. */
  startReporter(build: () => Report): Promise<Reporter>
  /** Receives the control messages of gateways, of the leading scaler and of operators. */
  subscribe(handlers: ControlHandlers): Promise<void>
}

/**
 * The bus as a worker uses it. A gateway uses one server; a worker uses all servers. The worker publishes to a gateway
 * on the server of that gateway, and sends its heartbeats on every server. So the loss of a server concerns only the
 * gateways that use this server.
 */
export async function createWorkerBus(options: {
  servers: readonly [BusServer, ...BusServer[]]
  worker: string
  presence: PresenceOptions
  publisher: PublisherOptions
  nowMs: () => number
  log: Logger
}): Promise<WorkerBus> {
  const { servers, worker, nowMs, log } = options
  const [first, ...others] = servers
  const links: [Link, ...Link[]] = [await open(first), ...(await Promise.all(others.map(open)))]
  const linkOf = (gateway: string) => toBusServer(gateway, links)

  async function open({ bus, subscriber }: BusServer): Promise<Link> {
    const presence = await createPresence({ ...options.presence, bus, subscriber, onHeartbeat: () => {} })
    const publisher = createEventPublisher({
      ...options.publisher,
      redis: bus,
      worker,
      onNoSubscriber: presence.suspect,
      nowMs,
      keepBytes: Math.floor(KEEP_BYTES / servers.length),
      log,
    })
    return { bus, subscriber, presence, publisher }
  }

  return {
    presence: {
      watch: (id) => linkOf(id).presence.watch(id),
      unwatch: (id) => linkOf(id).presence.unwatch(id),
      suspect: (id) => linkOf(id).presence.suspect(id),
      announce() {
        for (const { presence } of links) presence.announce()
      },
      receiveOwnKind() {
        const ends = links.map(({ presence }) => presence.receiveOwnKind())
        return () => {
          for (const end of ends) end()
        }
      },
      busAwayMs: () => Math.max(...links.map(({ presence }) => presence.busAwayMs())),
      buried: () => links.flatMap(({ presence }) => presence.buried()),
      peers() {
        const heard = links.flatMap(({ presence }) => presence.peers())
        return [...new Map(heard.map((heartbeat) => [heartbeat.id, heartbeat])).values()]
      },
      stop: async () => void (await Promise.all(links.map(async ({ presence }) => await presence.stop()))),
    },
    publisher: {
      send: (gateway, group) => linkOf(gateway).publisher.send(gateway, group),
      pulse: (gateway, streams) => linkOf(gateway).publisher.pulse(gateway, streams),
      acknowledge: (gateway, number) => linkOf(gateway).publisher.acknowledge(gateway, number),
      resend: (gateway, from) => linkOf(gateway).publisher.resend(gateway, from),
      forget: (gateway) => linkOf(gateway).publisher.forget(gateway),
      keptBytes: () => links.reduce((sum, { publisher }) => sum + publisher.keptBytes(), 0),
      flush: async () =>
        void (await Promise.all(links.map(async ({ publisher }) => await publisher.flush()))),
    },
    redisOf: (gateway) => linkOf(gateway).bus,
    startReporter: async (build) => await startReporter({ servers: links, build, nowMs, log }),
    async subscribe(handlers) {
      await Promise.all(
        links.map(async ({ subscriber }) => await subscribeControl({ ...handlers, subscriber, worker, log })),
      )
    },
  }
}

type Link = BusServer & { readonly presence: Presence; readonly publisher: EventPublisher }
