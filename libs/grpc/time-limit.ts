import { Metadata, status } from '@grpc/grpc-js'

/**
 * The time limit of one call, instead of a deadline of grpc-js. Such a deadline is a date of the wall clock. grpc-js
 * compares it with the clock again when it sends a call that waited for its connection. If the clock steps in between,
 * the call ends at once, or the server works on it for hours.
 *
 * So the call gets no deadline, and the timer of this limit cancels it. `metadata` contains the limit for the server,
 * as the duration that gRPC sends anyway (PROTOCOL-HTTP2.md, `grpc-timeout`).
 */
export type TimeLimit = {
  readonly metadata: Metadata
  /** Cancels `call` at the limit. Each `begin` needs one `end`. */
  begin(call: { cancel(): void }): void
  end(): void
  /** Returns the error with which the call ended, as DEADLINE_EXCEEDED if this limit ended the call. */
  explain(error: Error): Error
}

export function createTimeLimit(limitMs: number): TimeLimit {
  const metadata = new Metadata()
  metadata.set('grpc-timeout', `${Math.ceil(limitMs)}m`)
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  return {
    metadata,
    begin(call) {
      timer = setTimeout(() => {
        isOver = true
        call.cancel()
      }, limitMs)
    },
    end: () => clearTimeout(timer),
    explain(error) {
      if (!isOver) return error
      const details = `no answer within ${limitMs} ms`
      const code = status.DEADLINE_EXCEEDED
      return Object.assign(new Error(`${code} DEADLINE_EXCEEDED: ${details}`, { cause: error }), {
        code,
        details,
      })
    },
  }
}
