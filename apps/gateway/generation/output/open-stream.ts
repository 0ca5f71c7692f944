import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'

/** The gateway's end of one generation's events, bound to its caller and its deadline. */
export type GenerationStream = {
  readonly inbox: StreamInbox
  close(): void
}

/**
 * Opens a stream. `onAbort` is called when `signal` aborts. If the generation has not ended 10 s after its deadline, the
 * inbox reports the loss of the stream.
 */
export type OpenStream = (signal: AbortSignal, onAbort: () => void) => GenerationStream

/** A worker ends a generation at the generation's deadline. The gateway waits this much longer for the last event. */
const LATE_END_MS = 10_000

export function createOpenStream(deps: {
  openInbox: () => StreamInbox
  /** The longest time of a generation, queueing included. */
  limitMs: number
}): OpenStream {
  return (signal, onAbort) => {
    const inbox = deps.openInbox()
    signal.addEventListener('abort', onAbort)
    const timer = setTimeout(() => inbox.lose('deadline'), deps.limitMs + LATE_END_MS)
    return {
      inbox,
      close() {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        inbox.close()
      },
    }
  }
}
