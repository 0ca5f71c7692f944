import type { CallOptions, ClientUnaryCall, ServiceError } from '@grpc/grpc-js'

type UnaryMethod<Request, Response> = (
  request: Request,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response?: Response) => void,
) => ClientUnaryCall

/**
 * A unary call as a promise. Rejects with grpc's ServiceError (its `code` tells what happened), also when
 * `deadlineMs` (from now) passes. `method` must be bound to its client.
 */
export async function callUnary<Request, Response>(
  method: UnaryMethod<Request, Response>,
  request: Request,
  options: { deadlineMs: number },
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  method(request, { deadline: Date.now() + options.deadlineMs }, (error, response) => {
    if (error) reject(error)
    else if (response === undefined) reject(new Error('unary call ended without error and without message'))
    else resolve(response)
  })
  return await promise
}
