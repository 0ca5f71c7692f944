import type { GenerationEvent } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { SettlementTiming } from '#libs/contracts/settlement-timing.ts'
import type { StreamState } from '#libs/event-bus/frame.ts'
import type { EventPublisher } from '#libs/event-bus/publish-events.ts'
import type { AnsweredHold, AskedStream, StreamEpoch } from '#libs/event-bus/worker-control.ts'
import { ShortLivedMap } from '#libs/short-lived/short-lived-map.ts'
import { NO_SPAN, type Span } from '#libs/telemetry/span.ts'
import { createRun, type ClaimedGeneration, type RunningGeneration } from './running-generation.ts'

/** A generation in one epoch, as its record knows it. */
type KnownGeneration = { readonly model: string; readonly id: string; readonly epoch: number }

/** A generation whose gateway is dead. `timing` is null if it did not run. */
export type Orphan = KnownGeneration & { readonly timing: SettlementTiming | null }

/** A claimed generation that cannot be read. */
type UnreadGeneration = KnownGeneration & StreamEpoch & { readonly gateway: string }

export type RunningGenerations = {
  /**
   * Opens a run. `onClose` is called at its end, `onChoiceEnd` when a choice has ended before the last one. `span` is the
   * span of the run, if it is traced.
   */
  open(
    claim: ClaimedGeneration,
    onClose: () => void,
    options?: { span?: Span; onChoiceEnd?: () => void },
  ): RunningGeneration
  /**
   * Returns whether this process runs or has run this epoch, or a later epoch, of the generation. When a failover of
   * Redis loses a claim, the generation waits again, and the same worker may claim it a second time. The worker must
   * not start a second run of the same epoch: the gateway cannot distinguish two runs with the same epoch and worker.
   * If the first run still runs, it goes on. If it has ended, the pulse reports its end to the gateway.
   */
  hasHad(job: Pick<GenerationJob, 'gateway' | 'stream'>, epoch: number): boolean
  /** Sends the only event of an epoch that is not run. */
  refuse(generation: UnreadGeneration, event: GenerationEvent): void
  /** Returns the runs that have not ended, on all engines. */
  live(): RunningGeneration[]
  /**
   * Each entry of `stopped` names a stream of the gateway and an epoch. Stops the stream's run of this epoch or of an
   * earlier epoch. Such a run is also stopped if it is opened within 10 s after this call.
   */
  stopStreams(gateway: string, stopped: readonly StreamEpoch[]): void
  /** Passes the answer to a request for a larger hold to the run of exactly this epoch. */
  answerHold(gateway: string, answered: AnsweredHold): void
  /** Stops the runs of a gateway that receives nothing. They are settled only if the gateway dies. */
  stopGateway(gateway: string): void
  /** Settles the generations of a dead gateway, ended generations included, and stops its runs. */
  buryGateway(gateway: string): void
  /** Stops and forgets these streams, because the gateway has settled them. */
  forgetSettled(gateway: string, streams: readonly number[]): void
  /** Reports the states of the streams that a gateway asks about. */
  answer(gateway: string, asked: readonly AskedStream[]): void
  /**
   * Publishes two things to each gateway: the claims that are not published yet, and the sequence number of the last
   * event of some of the gateway's streams. These are the running streams that have sent nothing since the last call,
   * and the ended streams at some of the calls (`ENDED_EVERY_PULSES`). For the other running streams, the next frame
   * shows whether a frame was lost. Call it once a second.
   */
  pulse(): void
}

/**
 * An ended stream is remembered for this time. A gateway acknowledges within seconds the streams that it has settled; a
 * gateway that is cut off may need longer.
 */
const KEEP_ENDED_MS = 300_000
const KEEP_STOP_MS = 10_000
/** An ended stream is listed in one pulse, and again in every tenth pulse, in case the acknowledgement was lost. */
const ENDED_EVERY_PULSES = 10

/** `run` is null after the run's end, so that its prompt does not stay in memory; `timing` remains. */
type TrackedStream = UnreadGeneration & {
  lastSeq: number
  /** Calls of `pulse` since the stream's last event, or since its end. */
  quietPulses: number
  endedMs: number | null
  run: RunningGeneration | null
  timing: SettlementTiming | null
}

/**
 * The generations of this process on all engines, by gateway and stream: control messages name the stream, not the
 * generation. An ended generation is remembered until its gateway has settled it, but at most for `KEEP_ENDED_MS`. If the gateway dies before it has settled the generation, this worker settles it.
 */
export function createRunningGenerations(deps: {
  publisher: Pick<EventPublisher, 'send' | 'pulse' | 'forget'>
  /** Returns whether a claim with this nonce is still without an answer. */
  isClaiming: (nonce: string) => boolean
  isBuried: (gateway: string) => boolean
  /** Settles a generation of a dead gateway. */
  settleOrphan: (orphan: Orphan) => void
  watchGateway: (gateway: string) => void
  unwatchGateway: (gateway: string) => void
  nowMs: () => number
}): RunningGenerations {
  const { publisher, isClaiming, isBuried, settleOrphan, watchGateway, unwatchGateway, nowMs } = deps
  const gateways = new Map<string, ShortLivedMap<number, TrackedStream>>()
  /** A stop may arrive before the answer to the claim. */
  const stoppedEarly = new Map<string, { epoch: number; stoppedMs: number }>()

  function track({ gateway, model, id, stream, epoch }: UnreadGeneration): TrackedStream {
    const tracked: TrackedStream = {
      gateway,
      model,
      id,
      stream,
      epoch,
      lastSeq: 0,
      quietPulses: 1,
      endedMs: null,
      run: null,
      timing: null,
    }
    const streams = gateways.get(gateway) ?? new ShortLivedMap<number, TrackedStream>()
    if (streams.size === 0) {
      gateways.set(gateway, streams)
      watchGateway(gateway)
    }
    // The generation was taken from this worker, and has come back in another epoch.
    streams.get(stream)?.run?.stop('unwanted')
    streams.set(stream, tracked)
    return tracked
  }

  function send(tracked: TrackedStream, events: readonly GenerationEvent[], ids: readonly number[]): void {
    const { gateway, stream, epoch } = tracked
    // The stream was settled meanwhile, or its gateway is dead: the events are not expected any more.
    if (gateways.get(gateway)?.get(stream) !== tracked) return
    const entries = events.map((event, at) => {
      tracked.lastSeq += 1
      return { stream, epoch, seq: tracked.lastSeq, event, ids: at === 0 ? ids : [] }
    })
    tracked.quietPulses = 0
    publisher.send(gateway, entries)
  }

  function end(tracked: TrackedStream): void {
    tracked.endedMs = nowMs()
    tracked.quietPulses = 1
    tracked.timing = tracked.run?.timing() ?? null
    tracked.run = null
  }

  function drop(gateway: string, streams: ShortLivedMap<number, TrackedStream>): void {
    if (streams.size > 0 || !gateways.delete(gateway)) return
    unwatchGateway(gateway)
  }

  function buryGateway(gateway: string): void {
    for (const tracked of gateways.get(gateway)?.values() ?? []) {
      const { model, id, epoch, run } = tracked
      settleOrphan({ model, id, epoch, timing: run?.timing() ?? tracked.timing })
      run?.stop('gateway-dead')
    }
    if (gateways.delete(gateway)) unwatchGateway(gateway)
    publisher.forget(gateway)
  }

  function forgetOld(now: number): void {
    for (const [gateway, streams] of gateways) {
      for (const [stream, { endedMs }] of streams) {
        if (endedMs !== null && now > endedMs + KEEP_ENDED_MS) streams.delete(stream)
      }
      drop(gateway, streams)
    }
    for (const [key, { stoppedMs }] of stoppedEarly) {
      if (now - stoppedMs > KEEP_STOP_MS) stoppedEarly.delete(key)
    }
  }

  return {
    open(claim, onClose, { span = NO_SPAN, onChoiceEnd = () => undefined } = {}) {
      const { job, epoch } = claim
      const { gateway, stream } = job
      const tracked = track({ ...job, epoch })
      const run = createRun(claim, {
        send: (events, ids) => send(tracked, events, ids),
        onChoiceEnd,
        onClose() {
          end(tracked)
          onClose()
        },
        span,
        nowMs,
      })
      tracked.run = run
      const early = stoppedEarly.get(keyOf(gateway, stream))
      if (early !== undefined && epoch <= early.epoch) run.stop('unwanted')
      // The gateway died while its generation was claimed.
      if (isBuried(gateway)) buryGateway(gateway)
      return run
    },
    hasHad: ({ gateway, stream }, epoch) => (gateways.get(gateway)?.get(stream)?.epoch ?? 0) >= epoch,
    refuse(generation, event) {
      const tracked = track(generation)
      send(tracked, [event], [])
      end(tracked)
    },
    live: () =>
      gateways
        .values()
        .flatMap((streams) => streams.values())
        .flatMap(({ run }) => (run === null ? [] : [run]))
        .toArray(),
    stopStreams(gateway, stopped) {
      for (const { stream, epoch } of stopped) {
        const tracked = gateways.get(gateway)?.get(stream)
        if (tracked !== undefined && tracked.epoch <= epoch) tracked.run?.stop('unwanted')
        stoppedEarly.set(keyOf(gateway, stream), { epoch, stoppedMs: nowMs() })
      }
    },
    answerHold(gateway, { stream, epoch, amountNano, isFinal }) {
      const tracked = gateways.get(gateway)?.get(stream)
      if (tracked?.epoch === epoch) tracked.run?.onHold?.({ amountNano, isFinal })
    },
    stopGateway(gateway) {
      for (const { run } of gateways.get(gateway)?.values() ?? []) run?.stop('unwanted')
    },
    buryGateway,
    forgetSettled(gateway, settled) {
      const streams = gateways.get(gateway)
      if (streams === undefined) return
      for (const stream of settled) {
        streams.get(stream)?.run?.stop('unwanted')
        streams.delete(stream)
      }
      drop(gateway, streams)
    },
    answer(gateway, asked) {
      const streams = gateways.get(gateway)
      const states = asked.map(({ stream, epoch, nonce }): StreamState => {
        const tracked = streams?.get(stream)
        if (tracked?.epoch === epoch) return toState(tracked)
        return { stream, epoch, lastSeq: 0, state: isClaiming(nonce) ? 'claiming' : 'unknown' }
      })
      publisher.pulse(gateway, states)
    },
    pulse() {
      forgetOld(nowMs())
      for (const [gateway, streams] of gateways) {
        const listed: StreamState[] = []
        for (const tracked of streams.values()) {
          tracked.run?.sendClaim()
          if (isListed(tracked)) listed.push(toState(tracked))
          tracked.quietPulses += 1
        }
        if (listed.length > 0) publisher.pulse(gateway, listed)
      }
    },
  }
}

const keyOf = (gateway: string, stream: number) => `${gateway} ${stream}`

const isListed = ({ endedMs, quietPulses }: TrackedStream) =>
  endedMs === null ? quietPulses > 0 : quietPulses % ENDED_EVERY_PULSES === 1

const toState = ({ stream, epoch, lastSeq, endedMs }: TrackedStream): StreamState => ({
  stream,
  epoch,
  lastSeq,
  state: endedMs === null ? 'running' : 'ended',
})
