import { Server, status, type sendUnaryData } from '@grpc/grpc-js'
import { loadProto } from '#libs/grpc/load-proto.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ProtoGrpcType } from '#proto/types/externalscaler.ts'
import type { ExternalScalerHandlers } from '#proto/types/externalscaler/ExternalScaler.ts'
import type { ScaledObjectRef__Output } from '#proto/types/externalscaler/ScaledObjectRef.ts'
import type { Answers } from './answers.ts'

/** The only metric: a number of replicas, with a target of 1 per replica. */
const METRIC = 'replicas'

/** The pause between two activations of a pool that should have replicas while its Deployment has none. */
const REPEAT_MS = 2_000
/**
 * The server ends a stream after this time, plus or minus an eighth. KEDA pauses before it opens the next stream. Each
 * stream that fails makes the next pause longer, up to a minute; only a stream that the server ends without an error
 * makes the pause short again.
 */
const STREAM_MS = 240_000
/** KEDA opens one stream for each ScaledObject; streams beyond this number are refused. */
const MOST_STREAMS = 4_000

/**
 * The settings of connections. KEDA keeps a connection for ever, and its calls have no deadline. So the server sends
 * pings, which find dead connections. A connection has a maximum age, so that KEDA opens a new one and finds the other
 * replicas of the scaler. The grace time after this age is longer than a stream lasts.
 */
const CONNECTION = {
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.max_connection_age_ms': 300_000,
  'grpc.max_connection_age_grace_ms': 300_000,
} as const

export type KedaCall = 'IsActive' | 'GetMetrics' | 'GetMetricSpec' | 'StreamIsActive' | 'StreamMetricSpec'

/**
 * Serves KEDA's five calls from memory. `GetMetricSpec` never fails, because after a failure KEDA closes the stream.
 * `GetMetrics` and `IsActive` fail with UNAVAILABLE while the answers are stale, so that KEDA leaves the replicas as
 * they are. `StreamMetricSpec` is not implemented, because the metric's target is always 1. `endStreams` ends the open
 * streams without an error.
 */
export function createKedaServer(options: {
  answers: Answers
  /** Returns the replicas in the spec of the pool's Deployment; null when unknown. */
  replicasOf: (pool: string) => number | null
  onCall: (call: KedaCall, code: string) => void
  random: () => number
  log: Logger
}): { server: Server; endStreams: () => void } {
  const { answers, replicasOf, onCall, random, log } = options
  const { externalscaler } = loadProto<ProtoGrpcType>('externalscaler.proto')
  const server = new Server(CONNECTION)
  const streams = new Set<() => void>()

  /**
   * Answers one call of KEDA: with the response that `toResponse` makes from the target and the activity of the pool,
   * or with an error if the snapshot is stale or the pool is unknown.
   */
  function answer<Response>(
    call: KedaCall,
    asked: { pool: string; callback: sendUnaryData<Response> },
    toResponse: (answer: { target: number; isActive: boolean }) => Response,
  ) {
    const found = answers.find(asked.pool)
    if (found.status === 'known') {
      onCall(call, 'OK')
      return asked.callback(null, toResponse(found.answer))
    }
    const code = found.status === 'stale' ? 'UNAVAILABLE' : 'NOT_FOUND'
    onCall(call, code)
    const details =
      found.status === 'stale' ? 'no fresh snapshot of the leading scaler' : `no pool "${asked.pool}"`
    asked.callback({ code: status[code], details })
  }

  const handlers: ExternalScalerHandlers = {
    IsActive: ({ request }, callback) =>
      answer('IsActive', { pool: poolOf(request), callback }, ({ isActive }) => ({ result: isActive })),

    GetMetrics: ({ request }, callback) =>
      answer('GetMetrics', { pool: poolOf(request.scaledObjectRef), callback }, ({ target }) => ({
        metricValues: [{ metricName: METRIC, metricValue: String(target), metricValueFloat: target }],
      })),

    GetMetricSpec(_call, callback) {
      onCall('GetMetricSpec', 'OK')
      callback(null, { metricSpecs: [{ metricName: METRIC, targetSize: '1', targetSizeFloat: 1 }] })
    },

    StreamIsActive(stream) {
      if (streams.size >= MOST_STREAMS) {
        onCall('StreamIsActive', 'RESOURCE_EXHAUSTED')
        return void stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many streams' })
      }
      onCall('StreamIsActive', 'OK')
      const pool = poolOf(stream.request)
      const activate = () => void stream.write({ result: true })
      const isWanted = () => {
        const found = answers.find(pool)
        return found.status === 'known' && found.answer.target > 0
      }
      const stopWaking = answers.onWake((woken) => {
        if (woken === pool) activate()
      })
      const repeat = setInterval(() => {
        if (isWanted() && replicasOf(pool) === 0) activate()
      }, REPEAT_MS)
      const life = setTimeout(() => end(), STREAM_MS * (0.875 + random() / 4))
      const release = () => {
        streams.delete(end)
        stopWaking()
        clearInterval(repeat)
        clearTimeout(life)
      }
      function end() {
        release()
        stream.end()
      }
      streams.add(end)
      stream.once('cancelled', release)
      stream.once('close', release)
      stream.on('error', (error: unknown) => {
        release()
        log.debug({ err: error, pool }, 'stream to KEDA failed')
      })
      if (isWanted()) activate()
    },

    StreamMetricSpec(stream) {
      onCall('StreamMetricSpec', 'UNIMPLEMENTED')
      stream.emit('error', { code: status.UNIMPLEMENTED, details: 'the target is always 1' })
    },
  }
  server.addService(externalscaler.ExternalScaler.service, handlers)
  return {
    server,
    endStreams() {
      for (const end of streams) end()
    },
  }
}

/**
 * Returns the pool that the metadata of the ScaledObject's trigger names. If the metadata does not name a pool, the
 * pool has the name of the ScaledObject.
 */
function poolOf(ref: ScaledObjectRef__Output | null): string {
  return ref?.scalerMetadata['pool'] ?? ref?.name ?? ''
}
