import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'

/** The gateway's end of one generation's events, bound to its caller, its deadline and its worker. */
export type GenerationStream = {
  readonly inbox: StreamInbox
  /** Names the worker that runs the generation: from now on its death fails the stream. */
  watchWorker(worker: string): void
  close(): void
}

/** The inbox closes when `signal` aborts, and fails when the generation has not ended in time. */
export type OpenStream = (signal: AbortSignal) => GenerationStream

/** A worker ends a generation at its deadline; its last event may arrive this much later. */
const LATE_END_MS = 10_000

export function createOpenStream(deps: {
  openInbox: () => StreamInbox
  watchWorker: (worker: string) => void
  unwatchWorker: (worker: string) => void
  /** The longest time of a generation, queueing included. */
  limitMs: number
}): OpenStream {
  const { openInbox, limitMs } = deps
  return (signal) => {
    const inbox = openInbox()
    let watched: string | null = null

    const onAbort = () => inbox.close()
    signal.addEventListener('abort', onAbort)
    const timer = setTimeout(() => inbox.fail('its deadline has passed'), limitMs + LATE_END_MS)

    function unwatch() {
      if (watched !== null) deps.unwatchWorker(watched)
      watched = null
    }

    return {
      inbox,
      watchWorker(worker) {
        inbox.assumeWorker(worker)
        if (watched === worker) return
        unwatch()
        watched = worker
        deps.watchWorker(worker)
      },
      close() {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        inbox.close()
        unwatch()
      },
    }
  }
}
