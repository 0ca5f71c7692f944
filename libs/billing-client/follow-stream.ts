import type { ClientReadableStream } from '@grpc/grpc-js'

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 1_000

/**
 * Reads a server stream, and reopens it with growing pauses whenever it ends. `onMessage` may throw: an unreadable
 * message ends the stream like a lost connection. `onState` is called at each change; the stream counts as connected
 * from its first message on. Returns a function that stops reading.
 */
export function followStream<Message>(options: {
  open: () => ClientReadableStream<Message>
  onMessage: (message: Message) => void
  onState: (connected: boolean, reason: string) => void
}): () => void {
  const { open, onMessage, onState } = options
  let connected: boolean | null = null
  let retryMs = FIRST_RETRY_MS
  let timer: NodeJS.Timeout | undefined
  let stream: ClientReadableStream<Message> | null = null
  let stopped = false

  function changeState(next: boolean, reason: string) {
    if (stopped || connected === next) return
    connected = next
    onState(next, reason)
  }

  function connect() {
    const opened = open()
    stream = opened
    let failure = ''
    opened.on('data', (message: Message) => {
      if (stopped || failure !== '') return
      try {
        onMessage(message)
      } catch (error) {
        failure = `unreadable message: ${String(error)}`
        opened.cancel()
        return
      }
      retryMs = FIRST_RETRY_MS
      changeState(true, 'connected')
    })
    // `status` follows every end, also every error; without this listener an error would be thrown.
    opened.on('error', () => undefined)
    opened.on('status', ({ details }) => {
      if (stopped) return
      changeState(false, failure === '' ? details : failure)
      timer = setTimeout(connect, retryMs)
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
    })
  }

  connect()
  return () => {
    stopped = true
    clearTimeout(timer)
    stream?.cancel()
  }
}
