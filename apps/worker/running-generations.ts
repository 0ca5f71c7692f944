import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { EventPublisher } from '#libs/event-bus/publish-events.ts'
import type { StreamEpoch } from '#libs/event-bus/worker-control.ts'

/** Why a running generation is told to stop. */
export type StopReason = 'cancelled' | 'gateway-dead' | 'deadline' | 'worker-stopping' | 'engine-lost'

/** One generation in this process, from claim to end. */
export type RunningGeneration = {
  readonly job: GenerationJob
  readonly epoch: number
  /** Aborted by `stop`; `stopReason` tells why. */
  readonly signal: AbortSignal
  stopReason(): StopReason | null
  stop(reason: StopReason): void
  /** Publishes an event with the token ids that it brought. */
  send(event: GenerationEvent, ids: readonly number[]): void
  /** It is over: nothing can be sent any more. */
  close(): void
}

export type RunningGenerations = {
  open(job: GenerationJob, epoch: number): RunningGeneration
  /** Stops a gateway's stream up to an epoch, also one that is only about to be opened. */
  stopStream(gateway: string, cancelled: StreamEpoch): void
  stopGateway(gateway: string): void
  /** Tells each gateway where its streams stand. Call it once a second. */
  pulse(): void
}

/** Ended streams are still told, so that a gateway notices when only their end was lost. */
const TELL_ENDED_MS = 10_000

/** `run` is let go at its end: its prompt need not stay in memory while the stream is still told. */
type Told = {
  stream: number
  epoch: number
  lastSeq: number
  endedMs: number | null
  run: RunningGeneration | null
}

/**
 * Every generation of this process, whichever engine runs it. Gateways speak of their streams, so it is keyed
 * by gateway and stream.
 */
export function createRunningGenerations(deps: {
  publisher: EventPublisher
  watchGateway: (gateway: string) => void
  unwatchGateway: (gateway: string) => void
  nowMs: () => number
}): RunningGenerations {
  const { publisher, watchGateway, unwatchGateway, nowMs } = deps
  const gateways = new Map<string, Map<number, Told>>()
  /** A cancel may overtake the answer to our claim; it is remembered as long as an ended stream. */
  const cancelledEarly = new Map<string, { epoch: number; cancelledMs: number }>()

  function open(job: GenerationJob, epoch: number): RunningGeneration {
    const { gateway, stream } = job
    const abort = new AbortController()
    let reason: StopReason | null = null

    const run: RunningGeneration = {
      job,
      epoch,
      signal: abort.signal,
      stopReason: () => reason,
      stop(why) {
        if (reason !== null || told.endedMs !== null) return
        reason = why
        abort.abort()
      },
      send(event, ids) {
        told.lastSeq += 1
        publisher.send(gateway, { stream, epoch, seq: told.lastSeq, event, ids })
      },
      close() {
        clearTimeout(deadline)
        told.endedMs = nowMs()
        told.run = null
      },
    }
    const told: Told = { stream, epoch, lastSeq: 0, endedMs: null, run }
    const deadline = setTimeout(() => run.stop('deadline'), Math.max(0, job.deadlineMs - nowMs()))

    const streams = gateways.get(gateway) ?? new Map<number, Told>()
    if (streams.size === 0) {
      gateways.set(gateway, streams)
      watchGateway(gateway)
    }
    streams.set(stream, told)
    const early = cancelledEarly.get(earlyKey(gateway, stream))
    if (early !== undefined && epoch <= early.epoch) run.stop('cancelled')
    return run
  }

  function forgetEnded(now: number) {
    for (const [gateway, streams] of gateways) {
      for (const [stream, { endedMs }] of streams) {
        if (endedMs !== null && now - endedMs > TELL_ENDED_MS) streams.delete(stream)
      }
      if (streams.size === 0) {
        gateways.delete(gateway)
        unwatchGateway(gateway)
      }
    }
    for (const [key, { cancelledMs }] of cancelledEarly) {
      if (now - cancelledMs > TELL_ENDED_MS) cancelledEarly.delete(key)
    }
  }

  return {
    open,
    stopStream(gateway, { stream, epoch }) {
      const told = gateways.get(gateway)?.get(stream)
      if (told !== undefined && told.epoch <= epoch) told.run?.stop('cancelled')
      cancelledEarly.set(earlyKey(gateway, stream), { epoch, cancelledMs: nowMs() })
    },
    stopGateway(gateway) {
      const streams = gateways.get(gateway)
      if (streams === undefined) return
      gateways.delete(gateway)
      for (const { run } of streams.values()) run?.stop('gateway-dead')
    },
    pulse() {
      forgetEnded(nowMs())
      for (const [gateway, streams] of gateways) publisher.pulse(gateway, [...streams.values()].map(toPulse))
    },
  }
}

const earlyKey = (gateway: string, stream: number) => `${gateway} ${stream}`

const toPulse = ({ stream, epoch, lastSeq, endedMs }: Told) => ({
  stream,
  epoch,
  lastSeq,
  running: endedMs === null,
})
