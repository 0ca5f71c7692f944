import { pino } from 'pino'
import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { StreamState } from '#libs/event-bus/frame.ts'
import { createEventPublisher, type EventPublisher } from '#libs/event-bus/publish-events.ts'
import type { InboxEvent, StreamInbox } from '#libs/event-bus/stream-inbox.ts'

export const GATEWAY = 'gateway-1'
export const text = (content: string): GenerationEvent => ({ type: 'text-delta', text: content })
export const claimed = (worker: string, after = 0): GenerationEvent => ({
  type: 'generation-claimed',
  worker,
  promptTokens: 1,
  after,
  guided: false,
})
export const ended: GenerationEvent = {
  type: 'generation-end',
  finishReason: 'stop',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
}
export const lost = (reason: string) => ({ type: 'stream-lost', reason })

/** A worker: its publisher, and the state of its streams. */
export type Worker = {
  readonly publisher: EventPublisher
  /** Sends one event as a group of its own. */
  send(stream: number, event: GenerationEvent, sent?: { epoch?: number; ids?: readonly number[] }): void
  pulse(): void
  states(): readonly StreamState[]
}

export function createWorker(options: {
  worker: string
  publish: (text: string) => void
  keepBytes?: number
  nowMs?: () => number
}): Worker {
  const { worker, publish, keepBytes, nowMs = () => 0 } = options
  const states = new Map<string, StreamState>()
  const publisher = createEventPublisher({
    redis: {
      publish(_channel, message) {
        publish(message)
        return Promise.resolve(1)
      },
    },
    worker,
    onNoSubscriber: () => {},
    onPublish: () => {},
    nowMs,
    log: pino({ level: 'silent' }),
    ...(keepBytes === undefined ? {} : { keepBytes }),
  })
  return {
    publisher,
    send(stream, event, { epoch = 1, ids = [] } = {}) {
      const key = `${stream} ${epoch}`
      const seq = (states.get(key)?.lastSeq ?? 0) + 1
      publisher.send(GATEWAY, [{ stream, epoch, seq, event, ids }])
      const isLast = event.type === 'generation-end' || event.type === 'generation-declined'
      states.set(key, { stream, epoch, lastSeq: seq, state: isLast ? 'ended' : 'running' })
    },
    pulse: () => publisher.pulse(GATEWAY, [...states.values()]),
    states: () => [...states.values()],
  }
}

/** Reads the events that an inbox already has, without waiting for more. */
export async function read(inbox: StreamInbox): Promise<InboxEvent[]> {
  const events: InboxEvent[] = []
  inbox.close()
  for await (const batch of inbox) events.push(...batch)
  return events
}
