import type { Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import { gatewayChannel } from './channels.ts'
import { decodeGatewayMessage, type Frame, type GatewayMessage, type Pulse } from './frame.ts'
import type { StreamEpoch } from './worker-control.ts'
import { createStreamInbox, type InboxFeed, type StreamInbox } from './stream-inbox.ts'

export type EventSubscriber = {
  /** Opens the inbox of a new generation. Open it before the ticket is added: subscribe, then enqueue. */
  open(): StreamInbox
  openStreams(): number
  /** Fails every stream that `worker` has claimed. */
  failWorker(worker: string, reason: string): void
}

/**
 * Subscribes to this gateway's one channel, once, at boot, and distributes the events to the inboxes of its
 * generations. Stream numbers count up and are never reused, so a late event cannot reach the wrong one.
 *
 * `onStray` is called for events of streams that are closed and of epochs that are over; the caller answers with
 * `cancel`, which stops the worker.
 */
export async function subscribeEvents(options: {
  subscriber: Redis
  gateway: string
  onStray: (worker: string, streams: readonly StreamEpoch[]) => void
  log: Logger
}): Promise<EventSubscriber> {
  const { subscriber, gateway, onStray, log } = options
  const streams = new Map<number, { inbox: StreamInbox; feed: InboxFeed }>()
  let lastStream = 0

  function takeFrame({ worker, entries }: Frame) {
    const touched = new Set<InboxFeed>()
    const strays = new Map<number, StreamEpoch>()
    for (const entry of entries) {
      const feed = streams.get(entry.stream)?.feed
      if (feed === undefined || !feed.accept(entry)) strays.set(entry.stream, entry)
      else touched.add(feed)
    }
    for (const feed of touched) feed.deliver()
    if (strays.size > 0) onStray(worker, [...strays.values()])
  }

  function takePulse(pulse: Pulse) {
    const strays: StreamEpoch[] = []
    const listed = new Set<number>()
    for (const { stream, epoch, lastSeq, running } of pulse.streams) {
      listed.add(stream)
      const known = streams.get(stream)
      if (known === undefined || epoch < known.inbox.epoch()) {
        if (running) strays.push({ stream, epoch })
      } else if (epoch === known.inbox.epoch()) known.feed.compare(lastSeq)
    }
    for (const { inbox } of streams.values()) {
      if (inbox.worker() === pulse.worker && !listed.has(inbox.stream))
        inbox.fail('its worker does not know it')
    }
    if (strays.length > 0) onStray(pulse.worker, strays)
  }

  const channel = gatewayChannel(gateway)
  subscriber.on('message', (from: string, text: string) => {
    if (from !== channel) return
    let message: GatewayMessage
    try {
      message = decodeGatewayMessage(text)
    } catch (error) {
      log.error({ err: error }, 'unreadable message on the bus')
      return
    }
    if (message.kind === 'frame') takeFrame(message)
    else takePulse(message)
  })
  await subscriber.subscribe(channel)

  return {
    open() {
      lastStream += 1
      const stream = lastStream
      const opened = createStreamInbox(stream, () => streams.delete(stream))
      streams.set(stream, opened)
      return opened.inbox
    },
    openStreams: () => streams.size,
    failWorker(worker, reason) {
      for (const { inbox } of streams.values()) {
        if (inbox.worker() === worker) inbox.fail(reason)
      }
    },
  }
}
