import type { ClientReadableStream } from '@grpc/grpc-js'

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 1_000

/**
 * Reads a server stream, and reopens it with growing pauses whenever it ends. `onMessage` may throw: an unreadable
 * message ends the stream like a lost connection. `onState` is called whenever the stream becomes connected or is lost.
 * A stream counts as connected from its first message on. Returns a function that stops reading.
 *
 * A stream is read for `renewAfterMs`. Then a successor is opened, on a connection that may lead to another server. At
 * its first message the successor takes over, and the older stream is cancelled. So servers may close old connections:
 * no message is lost, and the state does not change.
 */
export function followStream<Message>(options: {
  open: () => ClientReadableStream<Message>
  onMessage: (message: Message) => void
  onState: (connected: boolean, reason: string) => void
  /** Returns the time for which a stream is read. Called for each stream. */
  renewAfterMs: () => number
}): () => void {
  const { open, onMessage, onState, renewAfterMs } = options
  let connected: boolean | null = null
  let retryMs = FIRST_RETRY_MS
  let retryTimer: NodeJS.Timeout | undefined
  let renewTimer: NodeJS.Timeout | undefined
  let stopped = false
  /** The stream that is read. */
  let stream: ClientReadableStream<Message> | null = null
  /** The stream that replaces `stream` at its own first message. */
  let successor: ClientReadableStream<Message> | null = null

  function changeState(next: boolean, reason: string) {
    if (stopped || connected === next) return
    connected = next
    onState(next, reason)
  }

  function connect() {
    stream = read()
  }

  function renewLater() {
    clearTimeout(renewTimer)
    renewTimer = setTimeout(() => {
      successor = read()
      // A successor that sends nothing is given up, and another one is tried later.
      renewTimer = setTimeout(() => successor?.cancel(), renewAfterMs())
    }, renewAfterMs())
  }

  function read(): ClientReadableStream<Message> {
    const opened = open()
    let failure = ''
    opened.on('data', (message: Message) => {
      if (stopped || failure !== '') return
      if (opened === successor) takeOver(opened)
      if (opened !== stream) return
      try {
        onMessage(message)
      } catch (error) {
        failure = `unreadable message: ${String(error)}`
        opened.cancel()
        return
      }
      retryMs = FIRST_RETRY_MS
      if (renewTimer === undefined) renewLater()
      changeState(true, 'connected')
    })
    // The event `status` comes at every end of a stream, also after an error, and is handled below. Without this
    // listener an error would be thrown.
    opened.on('error', () => undefined)
    opened.on('status', ({ details }) => {
      if (stopped) return
      if (opened === successor) {
        successor = null
        renewLater()
      }
      if (opened !== stream) return
      endRenewal()
      changeState(false, failure === '' ? details : failure)
      retryTimer = setTimeout(connect, retryMs)
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
    })
    return opened
  }

  function takeOver(opened: ClientReadableStream<Message>) {
    const former = stream
    stream = opened
    successor = null
    former?.cancel()
    renewLater()
  }

  function endRenewal() {
    clearTimeout(renewTimer)
    renewTimer = undefined
    const opened = successor
    successor = null
    opened?.cancel()
  }

  connect()
  return () => {
    stopped = true
    clearTimeout(retryTimer)
    endRenewal()
    stream?.cancel()
  }
}
