import type { CallOptions, ClientUnaryCall, ServiceError } from '@grpc/grpc-js'

type UnaryMethod<Request, Response> = (
  request: Request,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response?: Response) => void,
) => ClientUnaryCall

/**
 * A unary call as a promise. Rejects with grpc's ServiceError, whose `code` is the status, also when `timeoutMs` has
 * passed and when `signal` cancels the call. `method` must be bound to its client.
 */
export async function callUnary<Request, Response>(
  method: UnaryMethod<Request, Response>,
  request: Request,
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const { signal } = options
  signal?.throwIfAborted()
  const call = method(request, { deadline: Date.now() + options.timeoutMs }, (error, response) => {
    if (error) reject(error)
    else if (response === undefined) reject(new Error('unary call ended without error and without message'))
    else resolve(response)
  })
  const cancel = () => call.cancel()
  signal?.addEventListener('abort', cancel)
  try {
    return await promise
  } finally {
    signal?.removeEventListener('abort', cancel)
  }
}
