import {
  status,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
} from '@grpc/grpc-js'
import type { sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js'

/** The request is an object, because grpc-js takes an empty string for a missing request. */
type HealthRequest = { readonly service: string }

/**
 * grpc.health.v1.Health, written by hand because its two messages have one field each:
 * HealthCheckRequest.service = 1 (string), HealthCheckResponse.status = 1 (SERVING 1, NOT_SERVING 2).
 */
export const HEALTH_SERVICE: ServiceDefinition = {
  Check: method('Check', false),
  Watch: method('Watch', true),
}

/** Names that vLLM does not register are NOT_FOUND. Watch sends one status and ends, as the servicer does. */
export function createHealthHandlers(healthy: () => boolean): UntypedServiceImplementation {
  const answer = () => Buffer.from([0x08, healthy() ? 1 : 2])
  const unknown = (service: string) => ({ code: status.NOT_FOUND, details: `Unknown service: ${service}` })
  return {
    Check(call: ServerUnaryCall<HealthRequest, Buffer>, reply: sendUnaryData<Buffer>) {
      if (KNOWN.has(call.request.service)) reply(null, answer())
      else reply(unknown(call.request.service))
    },
    Watch(call: ServerWritableStream<HealthRequest, Buffer>) {
      if (!KNOWN.has(call.request.service)) return void call.emit('error', unknown(call.request.service))
      call.write(answer())
      call.end()
    },
  }
}

const KNOWN = new Set(['', 'vllm.grpc.engine.VllmEngine'])

function method(name: string, responseStream: boolean) {
  return {
    path: `/grpc.health.v1.Health/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: ({ service }: HealthRequest) =>
      Buffer.from([0x0a, service.length, ...Buffer.from(service)]),
    requestDeserialize: decodeRequest,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  }
}

/** Field 1 is the only field. One byte is enough for the length of every registered name. */
function decodeRequest(bytes: Buffer): HealthRequest {
  return { service: bytes.length < 2 ? '' : bytes.toString('utf8', 2) }
}
