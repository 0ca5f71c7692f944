import type { GenerationEvent, Usage } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { EventPublisher } from '#libs/event-bus/publish-events.ts'
import type { StreamEpoch } from '#libs/event-bus/worker-control.ts'

/** Why a running generation is stopped. */
export type StopReason = 'cancelled' | 'gateway-dead' | 'deadline' | 'worker-stopping' | 'engine-lost'

/** One generation in this process, from claim to end. */
export type RunningGeneration = {
  readonly job: GenerationJob
  readonly epoch: number
  /** What it has used so far. */
  readonly usage: { -readonly [Field in keyof Usage]: Usage[Field] }
  /** Set once the engine has given a token or a vector. */
  hasOutput: boolean
  /** Aborted by `stop`. */
  readonly signal: AbortSignal
  stopReason(): StopReason | null
  stop(reason: StopReason): void
  /** Publishes an event with the token ids that it brought. */
  send(event: GenerationEvent, ids: readonly number[]): void
  /** Ends it: nothing can be sent afterwards. */
  close(): void
}

export type RunningGenerations = {
  open(job: GenerationJob, epoch: number): RunningGeneration
  /** Stops a gateway's stream up to an epoch, also one that is not open yet. */
  stopStream(gateway: string, cancelled: StreamEpoch): void
  stopGateway(gateway: string): void
  /** Publishes to each gateway how far its streams are. Call it once a second. */
  pulse(): void
}

/** Ended streams stay in the pulses for this long, so that a gateway notices when only their end was lost. */
const KEEP_ENDED_MS = 10_000

/** A stream in the pulses. `run` is null after its end, so that its prompt does not stay in memory. */
type PulsedStream = {
  stream: number
  epoch: number
  lastSeq: number
  endedMs: number | null
  run: RunningGeneration | null
}

/**
 * Every generation of this process, whichever engine runs it, by gateway and stream: control messages name the
 * stream, not the generation.
 */
export function createRunningGenerations(deps: {
  publisher: EventPublisher
  watchGateway: (gateway: string) => void
  unwatchGateway: (gateway: string) => void
  nowMs: () => number
}): RunningGenerations {
  const { publisher, watchGateway, unwatchGateway, nowMs } = deps
  const gateways = new Map<string, Map<number, PulsedStream>>()
  /** A cancel may arrive before the answer to our claim; it is kept as long as an ended stream. */
  const cancelledEarly = new Map<string, { epoch: number; cancelledMs: number }>()

  function open(job: GenerationJob, epoch: number): RunningGeneration {
    const { gateway, stream } = job
    const abort = new AbortController()
    let reason: StopReason | null = null

    const run: RunningGeneration = {
      job,
      epoch,
      usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 },
      hasOutput: false,
      signal: abort.signal,
      stopReason: () => reason,
      stop(why) {
        if (reason !== null || state.endedMs !== null) return
        reason = why
        abort.abort()
      },
      send(event, ids) {
        state.lastSeq += 1
        publisher.send(gateway, { stream, epoch, seq: state.lastSeq, event, ids })
      },
      close() {
        clearTimeout(deadline)
        state.endedMs = nowMs()
        state.run = null
      },
    }
    const state: PulsedStream = { stream, epoch, lastSeq: 0, endedMs: null, run }
    const deadline = setTimeout(() => run.stop('deadline'), Math.max(0, job.deadlineMs - nowMs()))

    const streams = gateways.get(gateway) ?? new Map<number, PulsedStream>()
    if (streams.size === 0) {
      gateways.set(gateway, streams)
      watchGateway(gateway)
    }
    streams.set(stream, state)
    const early = cancelledEarly.get(earlyKey(gateway, stream))
    if (early !== undefined && epoch <= early.epoch) run.stop('cancelled')
    return run
  }

  function forgetEnded(now: number) {
    for (const [gateway, streams] of gateways) {
      for (const [stream, { endedMs }] of streams) {
        if (endedMs !== null && now - endedMs > KEEP_ENDED_MS) streams.delete(stream)
      }
      if (streams.size === 0) {
        gateways.delete(gateway)
        unwatchGateway(gateway)
      }
    }
    for (const [key, { cancelledMs }] of cancelledEarly) {
      if (now - cancelledMs > KEEP_ENDED_MS) cancelledEarly.delete(key)
    }
  }

  return {
    open,
    stopStream(gateway, { stream, epoch }) {
      const state = gateways.get(gateway)?.get(stream)
      if (state !== undefined && state.epoch <= epoch) state.run?.stop('cancelled')
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

const toPulse = ({ stream, epoch, lastSeq, endedMs }: PulsedStream) => ({
  stream,
  epoch,
  lastSeq,
  running: endedMs === null,
})
