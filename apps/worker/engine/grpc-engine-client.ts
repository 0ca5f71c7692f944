import type { EngineClient } from './engine-client.ts'
import { createEngineOverTransport } from './engine-over-transport.ts'
import { createGrpcJsTransport } from './transport/grpc-js-transport.ts'

/** An engine at `address` (`host:port`) by grpc-js; connects on first use. */
export function createGrpcEngineClient(options: { readonly address: string }): EngineClient {
  return createEngineOverTransport(createGrpcJsTransport(options))
}
