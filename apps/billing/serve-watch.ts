import { status, type ServerWritableStream } from '@grpc/grpc-js'
import type { Logger } from '#libs/telemetry/logger.ts'

/**
 * Serves one watcher: sends the result of `next` now and after each change, unless the result is null. Only one read
 * runs at a time. A read begins only when the watcher has taken the previous message, so that a slow watcher gets the
 * newest state and no backlog. When a read fails the stream ends; the watcher connects again and continues from its
 * last version. Returns a function that ends the stream.
 */
export function serveWatch<Request, Message>(
  stream: ServerWritableStream<Request, Message>,
  deps: {
    subscribe: (onChange: () => void) => () => void
    next: () => Promise<Message | null>
    log: Logger
  },
): () => void {
  const { subscribe, next, log } = deps
  let changed = false
  let busy = false
  let gone = false

  async function pump() {
    if (busy) return
    busy = true
    try {
      while (changed) {
        changed = false
        const message = await next()
        if (message !== null && !gone && !stream.write(message)) await drained()
      }
    } catch (error) {
      log.warn({ err: error }, 'a watch could not be served')
      if (!gone) stream.emit('error', { code: status.UNAVAILABLE, details: 'changes could not be read' })
      stop()
    }
    busy = false
  }

  /** Resolves when the watcher has taken the message, or has gone away. */
  async function drained() {
    const { promise, resolve } = Promise.withResolvers<void>()
    stream.once('drain', resolve)
    stream.once('cancelled', resolve)
    await promise
    stream.off('drain', resolve)
    stream.off('cancelled', resolve)
  }

  function onChange() {
    changed = true
    void pump()
  }

  function stop() {
    gone = true
    changed = false
    unsubscribe()
  }

  const unsubscribe = subscribe(onChange)
  stream.on('cancelled', stop)
  onChange()

  return () => {
    if (gone) return
    stop()
    stream.end()
  }
}
