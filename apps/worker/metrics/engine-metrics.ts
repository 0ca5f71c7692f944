import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { WorkerPhase } from '#libs/event-bus/scaling-signals.ts'
import { GEN_AI } from '#libs/telemetry/gen-ai-names.ts'
import type { RestartReason } from '../engine-watch/engine-life.ts'
import type { CallHistograms } from '../run/measure-calls.ts'
import type { Totals } from '../run/run-totals.ts'

/** Metrics of the engines themselves, beside the metrics of the generations. */
export type EngineMetrics = {
  /** A generation that waited `ms` was claimed for the first time. */
  noteQueueWait(model: string, ms: number): void
  noteRestart(model: string, reason: RestartReason): void
  /** A start of the engine took `ms`. */
  noteLoad(model: string, ms: number): void
  readonly calls: CallHistograms
}

/** An engine of the configuration, whether it has answered or not. */
export type MeasuredEngine = {
  readonly model: string
  readonly phase: WorkerPhase
  readonly kv: { readonly used: number | null; readonly capacity: number | null }
  /** The engine's own report; a field is null if the engine does not report it. */
  readonly engine: { readonly version: string | null; readonly waiting: number | null }
  /** Null until the engine has answered. */
  readonly tokens: Omit<Totals, 'ended'> | null
}

/** In seconds. A generation waits up to its deadline, an engine loads up to an hour. */
const WAIT_S = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640]
const LOAD_S = [1, 5, 10, 20, 40, 60, 90, 120, 180, 300, 600, 1_200, 1_800, 3_600]

/** Labels are bounded: a worker has the models of its configuration; phases, states and reasons are few words. */
export function createEngineMetrics(options: {
  registry: Registry
  engines: () => readonly MeasuredEngine[]
}): EngineMetrics {
  const { registry, engines } = options
  const registers = [registry]
  new Gauge({
    name: 'millrace_worker_phase',
    help: 'How many engines of the model are in the phase',
    labelNames: ['model', 'phase'],
    registers,
    collect() {
      this.reset()
      for (const { model, phase } of engines()) {
        for (const each of WorkerPhase.options) this.inc({ model, phase: each }, each === phase ? 1 : 0)
      }
    },
  })
  new Gauge({
    name: 'millrace_worker_kv_tokens',
    help: 'Tokens in use in the KV cache of the engine, and its size; absent where the engine does not report them',
    labelNames: ['model', 'state'],
    registers,
    collect() {
      this.reset()
      for (const { model, kv } of engines()) {
        if (kv.used !== null) this.inc({ model, state: 'used' }, kv.used)
        if (kv.capacity !== null) this.inc({ model, state: 'capacity' }, kv.capacity)
      }
    },
  })
  new Gauge({
    name: 'millrace_worker_engine_info',
    help: 'How many engines of the model run this release of the engine; absent where they do not report it',
    labelNames: ['model', 'version'],
    registers,
    collect() {
      this.reset()
      for (const { model, engine } of engines()) {
        if (engine.version !== null) this.inc({ model, version: engine.version })
      }
    },
  })
  new Gauge({
    name: 'millrace_worker_engine_waiting',
    help: 'Generations that the engine has accepted and not begun; absent where it does not report them',
    labelNames: ['model'],
    registers,
    collect() {
      this.reset()
      for (const { model, engine } of engines())
        if (engine.waiting !== null) this.inc({ model }, engine.waiting)
    },
  })
  new Counter({
    name: 'millrace_worker_tokens_total',
    help: 'Tokens of the runs that the engine worked for: prompt (replayed output too), cached (those of the prompt that its prefix cache had), output',
    labelNames: ['model', 'kind'],
    registers,
    collect() {
      this.reset()
      for (const { model, tokens } of engines()) {
        if (tokens === null) continue
        this.inc({ model, kind: 'prompt' }, tokens.promptTokens)
        this.inc({ model, kind: 'cached' }, tokens.cachedTokens)
        this.inc({ model, kind: 'output' }, tokens.outputTokens)
      }
    },
  })
  const queueWait = new Histogram({
    name: 'millrace_worker_queue_wait_seconds',
    help: 'Time that a generation waited in the queue until its first claim, by the clock of the queue Redis',
    labelNames: ['model'],
    buckets: WAIT_S,
    registers,
  })
  const restarts = new Counter({
    name: 'millrace_worker_engine_restarts_total',
    help: 'Restarts of the engine that the worker asked for (dead, silent, not-up) or noticed (gone)',
    labelNames: ['model', 'reason'],
    registers,
  })
  const loads = new Histogram({
    name: 'millrace_worker_load_seconds',
    help: 'Time until a starting engine was ready, counted from the start of the worker or the end of the engine before it',
    labelNames: ['model'],
    buckets: LOAD_S,
    registers,
  })

  return {
    noteQueueWait: (model, ms) => queueWait.observe({ model }, ms / 1_000),
    noteRestart: (model, reason) => restarts.inc({ model, reason }),
    noteLoad: (model, ms) => loads.observe({ model }, ms / 1_000),
    calls: {
      operationDuration: new Histogram({ ...toOptions(GEN_AI.operationDuration), registers }),
      timeToFirstChunk: new Histogram({ ...toOptions(GEN_AI.timeToFirstChunk), registers }),
    },
  }
}

function toOptions<Label extends string>(metric: {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly Label[]
  readonly buckets: readonly number[]
}) {
  return { ...metric, labelNames: [...metric.labelNames], buckets: [...metric.buckets] }
}
