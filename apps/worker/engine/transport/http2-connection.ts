import { connect, type ClientHttp2Session } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { callFailure, type CallFailure } from './call-failure.ts'
import { RECONNECT_PAUSE_MS } from './transport.ts'

/** The one connection to a server. It is opened at the first use, and again at the first use after it was lost. */
export type Http2Connection = {
  /**
   * Calls either `user.onSession` with a session that accepts new streams, or `user.onFailure`. If the session or the
   * failure is known already, this call is made before `use` returns.
   */
  readonly use: (user: ConnectionUser) => void
  /** Returns how many times the connection was opened. */
  readonly opened: () => number
  /** Accepts no more users. Running streams end by themselves. */
  readonly close: () => void
}

export type ConnectionUser = {
  readonly onSession: (session: ClientHttp2Session) => void
  readonly onFailure: (failure: CallFailure) => void
}

const CONNECT_TIMEOUT_MS = 5_000

const SESSION_OPTIONS = {
  settings: { enablePush: false },
  // The limit of a session's memory, in MB. A high limit is safe, because the session's streams already bound its
  // memory: each stream has one flow-control window and one request.
  maxSessionMemory: 4_096,
} as const

/**
 * The flow-control window of the connection. All streams share it, and it is freed as soon as data arrives. So it only
 * has to be large enough not to slow the streams.
 */
const CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024

/**
 * The states of a connection:
 * - *idle* until a call of `use`
 * - *connecting* after a call of `use`
 * - *ready* once the server's settings arrive; *idle* again after a loss or a GOAWAY
 * - *pausing* after a failed attempt to connect: calls of `use` fail at once until the pause is over. Then the
 *   connection is *idle*.
 *
 * Pauses double from 200 ms to a second; a success resets them. No pings are sent: vLLM up to 0.31 answers them by
 * killing all calls.
 */
export function createHttp2Connection(address: string): Http2Connection {
  let session: ClientHttp2Session | null = null
  let attempt: { candidate: ClientHttp2Session; users: ConnectionUser[] } | null = null
  let pause: { endsMs: number; lengthMs: number; reason: string } | null = null
  let opened = 0
  let closed = false

  /** Node closes a session itself after a GOAWAY. */
  function isReady(one: ClientHttp2Session | null): one is ClientHttp2Session {
    return one !== null && !one.closed && !one.destroyed
  }

  function begin(users: ConnectionUser[]): void {
    const candidate = connect(`http://${address}`, SESSION_OPTIONS)
    attempt = { candidate, users }
    let reason: Error | null = null
    const timer = setTimeout(() => {
      candidate.destroy(new Error(`no answer within ${CONNECT_TIMEOUT_MS} ms`))
    }, CONNECT_TIMEOUT_MS)

    // Only the peer's settings show that it speaks HTTP/2.
    candidate.once('remoteSettings', () => {
      clearTimeout(timer)
      candidate.setLocalWindowSize(CONNECTION_WINDOW_BYTES)
      attempt = null
      pause = null
      session = candidate
      opened += 1
      for (const { onSession } of users) onSession(candidate)
    })
    candidate.on('error', (error) => (reason = error))
    candidate.on('close', () => {
      clearTimeout(timer)
      forget(candidate)
      if (attempt?.candidate !== candidate) return
      attempt = null
      const message = reason?.message ?? 'the server closed the connection'
      const lengthMs = Math.min(
        (pause?.lengthMs ?? RECONNECT_PAUSE_MS.first / 2) * 2,
        RECONNECT_PAUSE_MS.longest,
      )
      pause = { endsMs: performance.now() + lengthMs, lengthMs, reason: message }
      for (const { onFailure } of users) onFailure(unreachable(message, reason))
    })
  }

  function forget(gone: ClientHttp2Session): void {
    if (session === gone) session = null
  }

  function unreachable(reason: string, cause?: Error | null): CallFailure {
    return callFailure(status.UNAVAILABLE, `no connection to ${address}: ${reason}`, cause ?? undefined)
  }

  return {
    use(user) {
      if (closed) user.onFailure(unreachable('this client is closed'))
      else if (isReady(session)) user.onSession(session)
      else if (attempt !== null) attempt.users.push(user)
      else if (pause !== null && performance.now() < pause.endsMs) user.onFailure(unreachable(pause.reason))
      else begin([user])
    },
    opened: () => opened,
    close() {
      closed = true
      attempt?.candidate.destroy()
      session?.close()
    },
  }
}
