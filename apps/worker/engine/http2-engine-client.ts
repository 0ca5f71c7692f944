import type { EngineClient } from './engine-client.ts'
import { createEngineOverTransport } from './engine-over-transport.ts'
import { createHttp2Transport } from './transport/http2-transport.ts'

/** An engine at `address` (`host:port`) by `node:http2`; connects on first use. */
export function createHttp2EngineClient(options: { readonly address: string }): EngineClient {
  return createEngineOverTransport(createHttp2Transport(options))
}
