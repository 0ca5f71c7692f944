import type { CallFailure } from './call-failure.ts'

/**
 * gRPC calls to one address, in plaintext. A call that the server has seen is not retried, because a generation must
 * never run twice. The worker uses `createHttp2Transport`; the tests compare it with a transport on grpc-js.
 */
export type Transport = {
  /** Resolves with the one answer. Rejects with a CallFailure, also after `timeoutMs` and when `signal` is aborted. */
  readonly unary: <Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ) => Promise<Response>
  /** The listener is not called before this returns. */
  readonly serverStream: <Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    options: StreamListener<Response> & { readonly timeoutMs?: number },
  ) => StreamCall
  /**
   * Returns the number of connections that were opened until now. If the number has grown between two calls to the
   * server, the server may have been started anew between these calls.
   */
  readonly connections: () => number
  /** Accepts no new calls; running calls end by themselves. */
  readonly close: () => void
}

/** A method as generated services describe it. */
export type Method<Request, Response> = {
  readonly path: string
  readonly requestSerialize: (request: Request) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => Response
}

export type StreamListener<Response> = {
  readonly onMessage: (message: Response) => void
  /**
   * Called last. `failure` is null if the server ended the call with OK. In this case `onMessage` has been called for
   * every message of the server.
   */
  readonly onEnd: (failure: CallFailure | null) => void
}

export type StreamCall = {
  /**
   * Stops the calls of `onMessage` until `resume`. The server stops sending as soon as the flow-control window is full.
   * Only tests use `pause`, to compare what engines send to a slow reader. The worker takes every message at once.
   */
  readonly pause: () => void
  readonly resume: () => void
  /**
   * Cancels the call at the server at once. Unless the call has ended, it ends as CANCELLED before `cancel` returns.
   */
  readonly cancel: () => void
}

/**
 * The limit in both directions. The largest message of an engine is a long output as a whole, about 5 MB for a million
 * tokens.
 */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/**
 * The first and the longest pause between two attempts to connect. Engines are on the same node: a running engine
 * answers at once, and a starting engine is noticed within a second.
 */
export const RECONNECT_PAUSE_MS = { first: 200, longest: 1_000 } as const
