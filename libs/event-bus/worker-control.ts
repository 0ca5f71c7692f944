import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { Logger } from '#libs/telemetry/logger.ts'
import { workerChannel } from './channels.ts'

/** A gateway's stream, up to and including an epoch. */
const StreamEpoch = z.object({ stream: z.int(), epoch: z.int() })
export type StreamEpoch = z.infer<typeof StreamEpoch>

/** From a gateway to a worker: stop these of its streams; the vectors of this key have arrived. */
const WorkerControl = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('cancel'), gateway: z.string(), streams: z.array(StreamEpoch) }),
  z.strictObject({ type: z.literal('vectors-taken'), key: z.string() }),
])
type WorkerControl = z.infer<typeof WorkerControl>

/** Asks `worker` to stop streams; resolves with whether a subscriber received the message. */
export async function sendCancel(
  redis: Redis,
  worker: string,
  cancel: { gateway: string; streams: readonly StreamEpoch[] },
): Promise<boolean> {
  const message: WorkerControl = {
    type: 'cancel',
    gateway: cancel.gateway,
    streams: cancel.streams.map(({ stream, epoch }) => ({ stream, epoch })),
  }
  return (await redis.publish(workerChannel(worker), JSON.stringify(message))) > 0
}

/** Reports to `worker` that the vectors of `key` have arrived. */
export async function sendVectorsTaken(redis: Redis, worker: string, key: string): Promise<void> {
  const message: WorkerControl = { type: 'vectors-taken', key }
  await redis.publish(workerChannel(worker), JSON.stringify(message))
}

/** Subscribes to this worker's own channel. */
export async function subscribeControl(options: {
  subscriber: Redis
  worker: string
  onCancel: (gateway: string, streams: readonly StreamEpoch[]) => void
  onVectorsTaken: (key: string) => void
  log: Logger
}): Promise<void> {
  const { subscriber, worker, onCancel, onVectorsTaken, log } = options
  const channel = workerChannel(worker)
  subscriber.on('message', (from: string, text: string) => {
    if (from !== channel) return
    const message = WorkerControlText.safeParse(text)
    if (!message.success) log.error({ err: message.error }, 'unreadable control message')
    else if (message.data.type === 'cancel') onCancel(message.data.gateway, message.data.streams)
    else onVectorsTaken(message.data.key)
  })
  await subscriber.subscribe(channel)
}

const WorkerControlText = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue({ code: 'custom', message: 'not JSON' })
      return z.NEVER
    }
  })
  .pipe(WorkerControl)
