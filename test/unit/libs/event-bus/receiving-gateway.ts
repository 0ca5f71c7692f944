import { decodeGatewayMessage } from '#libs/event-bus/frame.ts'
import { createEventReceiver } from '#libs/event-bus/receive-events.ts'
import { createWorker, GATEWAY } from './publishing-worker.ts'

/**
 * Creates a gateway, and two workers whose messages wait in `bus` until they are delivered. `sentByNow` returns the
 * control messages that were sent since its last call.
 */
export function createGateway() {
  let sent: unknown[] = []
  let late = 0
  const loop = { isLate: false }
  const bus: string[] = []
  const note =
    (kind: string) =>
    (...call: unknown[]) => {
      sent.push([kind, ...call])
      return Promise.resolve(true)
    }
  const receiver = createEventReceiver({
    control: {
      stop: note('stop'),
      resend: note('resend'),
      ask: note('ask'),
      acknowledge: note('acknowledge'),
    },
    onLate: (events) => (late += events),
    isLoopLate: () => loop.isLate,
  })
  const worker = createWorker({ worker: 'worker-1', publish: (message) => bus.push(message) })
  const other = createWorker({ worker: 'worker-2', publish: (message) => bus.push(message) })

  /** Publishes what is queued, as one frame for each worker, and returns the messages. */
  function publish(): string[] {
    void worker.publisher.flush()
    void other.publisher.flush()
    return bus.splice(0)
  }

  return {
    receiver,
    loop,
    worker,
    other,
    bus,
    publish,
    deliver(messages = publish()) {
      for (const message of messages) receiver.take(decodeGatewayMessage(message))
    },
    resend: (from: number) => worker.publisher.resend(GATEWAY, from),
    ticks(count: number) {
      for (let at = 0; at < count; at += 1) receiver.tick()
    },
    /** Stops are sent at the end of the current work. */
    async sentByNow(): Promise<unknown[]> {
      await Promise.resolve()
      const messages = sent
      sent = []
      return messages
    },
    late: () => late,
  }
}
