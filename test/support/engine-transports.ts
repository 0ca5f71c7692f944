import { createHttp2Transport } from '#apps/worker/engine/transport/http2-transport.ts'
import { createGrpcJsTransport } from './grpc-js-transport.ts'

/** The worker's transport, and the reference with which it is compared. */
export const TRANSPORTS = { http2: createHttp2Transport, 'grpc-js': createGrpcJsTransport }
export type TransportName = keyof typeof TRANSPORTS
