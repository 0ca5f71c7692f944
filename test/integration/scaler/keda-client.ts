import type { ClientReadableStream } from '@grpc/grpc-js'
import { callUnary } from '#libs/grpc/call-unary.ts'
import { loadProto } from '#libs/grpc/load-proto.ts'
import { openGrpcClient } from '#libs/grpc/open-client.ts'
import type { ProtoGrpcType } from '#proto/types/externalscaler.ts'
import type { GetMetricSpecResponse__Output } from '#proto/types/externalscaler/GetMetricSpecResponse.ts'
import type { GetMetricsRequest } from '#proto/types/externalscaler/GetMetricsRequest.ts'
import type { GetMetricsResponse__Output } from '#proto/types/externalscaler/GetMetricsResponse.ts'
import type { IsActiveResponse__Output } from '#proto/types/externalscaler/IsActiveResponse.ts'
import type { ScaledObjectRef } from '#proto/types/externalscaler/ScaledObjectRef.ts'

/** The calls that KEDA makes to one scaler. */
export function connectKeda(address: string) {
  const { externalscaler } = loadProto<ProtoGrpcType>('externalscaler.proto')
  const client = openGrpcClient(externalscaler.ExternalScaler, address)
  const refOf = (pool: string) => ({ name: pool, namespace: 'lab', scalerMetadata: { pool } })
  const timeout = { timeoutMs: 10_000 }
  const times: number[] = []

  async function timed<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    const startedMs = performance.now()
    try {
      return await ask()
    } finally {
      times.push(performance.now() - startedMs)
    }
  }

  return {
    /** How long each call took, in ms. */
    times,
    spec: async (pool: string) =>
      (
        await callUnary<ScaledObjectRef, GetMetricSpecResponse__Output>(
          client.GetMetricSpec.bind(client),
          refOf(pool),
          timeout,
        )
      ).metricSpecs,
    async target(pool: string) {
      const request = { scaledObjectRef: refOf(pool), metricName: 'replicas' }
      const { metricValues } = await timed(
        async () =>
          await callUnary<GetMetricsRequest, GetMetricsResponse__Output>(
            client.GetMetrics.bind(client),
            request,
            timeout,
          ),
      )
      return metricValues[0]?.metricValueFloat
    },
    isActive: async (pool: string) =>
      (
        await timed(
          async () =>
            await callUnary<ScaledObjectRef, IsActiveResponse__Output>(
              client.IsActive.bind(client),
              refOf(pool),
              timeout,
            ),
        )
      ).result,
    watch: (pool: string) => follow(client.StreamIsActive(refOf(pool))),
    watchSpec: (pool: string) => follow(client.StreamMetricSpec(refOf(pool))),
    close: () => client.close(),
  }
}

/** Records the number of messages of a stream, and its status code when it has ended; null while it is open. */
function follow<Message>(stream: ClientReadableStream<Message>) {
  const followed: { messages: number; code: number | null; cancel(): void } = {
    messages: 0,
    code: null,
    cancel: () => stream.cancel(),
  }
  stream.on('data', () => {
    followed.messages += 1
  })
  stream.on('error', () => {})
  stream.on('status', ({ code }) => {
    followed.code = code
  })
  return followed
}
