import type { Redis } from 'ioredis'
import type { Logger } from '#libs/telemetry/logger.ts'
import { gatewayChannel } from './channels.ts'
import { decodeGatewayMessage, type GatewayMessage } from './frame.ts'
import { createEventReceiver, type EventReceiver } from './receive-events.ts'
import type { ControlSender } from './worker-control.ts'

export type EventSubscriber = Omit<EventReceiver, 'take' | 'catchUp'>

/**
 * Subscribes to this gateway's one channel, once, at boot. When a lost connection is back, the missed frames are
 * requested at once.
 *
 * `onLate` and `isLoopLate`: see `createEventReceiver`.
 */
export async function subscribeEvents(options: {
  subscriber: Redis
  gateway: string
  control: Pick<ControlSender, 'stop' | 'resend' | 'ask' | 'acknowledge'>
  onLate: (events: number) => void
  isLoopLate: () => boolean
  log: Logger
}): Promise<EventSubscriber> {
  const { subscriber, gateway, log, ...receiving } = options
  const channel = gatewayChannel(gateway)
  const receiver = createEventReceiver(receiving)

  subscriber.on('message', (from: string, text: string) => {
    if (from !== channel) return
    let message: GatewayMessage
    try {
      message = decodeGatewayMessage(text)
    } catch (error) {
      log.error({ err: error }, 'unreadable message on the bus')
      return
    }
    receiver.take(message)
  })
  await subscriber.subscribe(channel)

  async function catchUp() {
    // The subscription comes first: answers that arrive before it is restored would be lost as well.
    await subscriber.subscribe(channel)
    receiver.catchUp()
  }
  subscriber.on('ready', () => {
    catchUp().catch((error: unknown) => log.warn({ err: error }, 'missed frames not asked for'))
  })
  return receiver
}
