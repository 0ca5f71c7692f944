import type { ClientUnaryCall, Metadata, ServiceError } from '@grpc/grpc-js'
import { createTimeLimit } from './time-limit.ts'

type UnaryMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  callback: (error: ServiceError | null, response?: Response) => void,
) => ClientUnaryCall

/**
 * Makes a unary call and returns a promise of its answer. Rejects with grpc's ServiceError, whose `code` is the status.
 * It rejects with this error too when `timeoutMs` has passed and when `signal` cancels the call. `method` must be bound
 * to its client.
 */
export async function callUnary<Request, Response>(
  method: UnaryMethod<Request, Response>,
  request: Request,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const { signal } = options
  signal?.throwIfAborted()
  const limit = createTimeLimit(options.timeoutMs)
  const call = method(request, limit.metadata, (error, response) => {
    if (error) reject(limit.explain(error))
    else if (response === undefined) reject(new Error('unary call ended without error and without message'))
    else resolve(response)
  })
  limit.begin(call)
  const cancel = () => call.cancel()
  signal?.addEventListener('abort', cancel)
  try {
    return await promise
  } finally {
    limit.end()
    signal?.removeEventListener('abort', cancel)
  }
}
