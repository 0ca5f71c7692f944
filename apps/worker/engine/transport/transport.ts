import type { CallFailure } from './call-failure.ts'

/**
 * gRPC as an engine needs it: calls to one address, in plaintext, without retries of calls that the server has seen:
 * a generation must never run twice. The worker's is `createHttp2Transport`; the tests compare it with one on grpc-js.
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
  /** Accepts no new calls; running ones end by themselves. */
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
  /** Called last: with null when the server ended the call with OK, then after all of its messages. */
  readonly onEnd: (failure: CallFailure | null) => void
}

export type StreamCall = {
  /**
   * No `onMessage` until `resume`; the server stops sending as soon as the flow-control window is full. Used by tests only,
   * which compare what engines send to a slow reader: the worker takes every message at once.
   */
  readonly pause: () => void
  readonly resume: () => void
  /** Cancels at the server at once; unless the call has ended, it ends CANCELLED before this returns. */
  readonly cancel: () => void
}

/**
 * For both directions. The largest message that an engine sends is a long output as a whole, about 5 MB for a million
 * tokens.
 */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

/** Engines are on the same node: a running one answers at once, and a starting one is noticed within a second. */
export const RECONNECT_PAUSE_MS = { first: 200, longest: 1_000 } as const
