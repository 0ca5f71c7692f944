import type { Registry } from '@prometheus-io/client'
import { WorkerPhase } from '#libs/contracts/model-state.ts'
import type { EngineState } from '#libs/event-bus/heartbeat.ts'
import { declareMetrics } from '#libs/telemetry/declare-metrics.ts'
import { GEN_AI } from '#libs/telemetry/gen-ai-names.ts'
import type { RestartReason } from '../engine-watch/engine-life.ts'
import type { CallHistograms } from '../run/measure/measure-calls.ts'

/** Metrics of the engines themselves, beside the metrics of the generations. */
export type EngineMetrics = {
  /** A generation that waited `ms` was claimed for the first time. */
  noteQueueWait(model: string, ms: number): void
  noteRestart(model: string, reason: RestartReason): void
  /** A start of the engine took `ms`. */
  noteLoad(model: string, ms: number): void
  readonly calls: CallHistograms
}

/** In seconds. A generation waits up to its deadline, an engine loads up to an hour. */
const WAIT_S = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 20, 40, 80, 160, 320, 640]
const LOAD_S = [1, 5, 10, 20, 40, 60, 90, 120, 180, 300, 600, 1_200, 1_800, 3_600]

/** Labels are bounded: a worker has the models of its configuration; phases, states and reasons are few words. */
export function createEngineMetrics(options: {
  registry: Registry
  engines: () => readonly EngineState[]
}): EngineMetrics {
  const { engines } = options
  const { counter, gauge, histogram } = declareMetrics(options.registry)
  gauge({
    name: 'millrace_worker_phase',
    help: 'How many engines of the model are in the phase',
    labelNames: ['model', 'phase'],
    read: () =>
      engines().flatMap(({ model, phase }) =>
        WorkerPhase.options.map((each) => [{ model, phase: each }, each === phase ? 1 : 0] as const),
      ),
  })
  gauge({
    name: 'millrace_worker_kv_tokens',
    help: 'Tokens in use in the KV cache of the engine, and its size; absent where the engine does not report them',
    labelNames: ['model', 'state'],
    read: () =>
      engines().flatMap(({ model, kvUsed, kvCapacity }) => [
        [{ model, state: 'used' }, kvUsed] as const,
        [{ model, state: 'capacity' }, kvCapacity] as const,
      ]),
  })
  gauge({
    name: 'millrace_worker_engine_info',
    help: 'How many engines of the model run this release of the engine; absent where they do not report it',
    labelNames: ['model', 'version'],
    read: () =>
      engines().flatMap(({ model, version }) => (version === null ? [] : [[{ model, version }, 1]])),
  })
  gauge({
    name: 'millrace_worker_engine_waiting',
    help: 'Generations that the engine has accepted and not begun; absent where it does not report them',
    labelNames: ['model'],
    read: () => engines().map(({ model, waiting }) => [{ model }, waiting]),
  })
  counter({
    name: 'millrace_worker_tokens_total',
    help: 'Tokens of the runs that the engine worked for: prompt (replayed output too), cached (those of the prompt that its prefix cache had), output',
    labelNames: ['model', 'kind'],
    read: () =>
      engines().flatMap(({ model, promptTokens, cachedTokens, outputTokens }) => [
        [{ model, kind: 'prompt' }, promptTokens] as const,
        [{ model, kind: 'cached' }, cachedTokens] as const,
        [{ model, kind: 'output' }, outputTokens] as const,
      ]),
  })
  const queueWait = histogram({
    name: 'millrace_worker_queue_wait_seconds',
    help: 'Time that a generation waited in the queue until its first claim, by the clock of the queue Redis',
    labelNames: ['model'],
    buckets: WAIT_S,
  })
  const restarts = counter({
    name: 'millrace_worker_engine_restarts_total',
    help: 'Restarts of the engine that the worker asked for (dead, silent, not-up) or noticed (gone)',
    labelNames: ['model', 'reason'],
  })
  const loads = histogram({
    name: 'millrace_worker_load_seconds',
    help: 'Time until a starting engine was ready, counted from the start of the worker or the end of the engine before it',
    labelNames: ['model'],
    buckets: LOAD_S,
  })

  return {
    noteQueueWait: (model, ms) => queueWait.observe({ model }, ms / 1_000),
    noteRestart: (model, reason) => restarts.inc({ model, reason }),
    noteLoad: (model, ms) => loads.observe({ model }, ms / 1_000),
    calls: {
      operationDuration: histogram(GEN_AI.operationDuration),
      timeToFirstChunk: histogram(GEN_AI.timeToFirstChunk),
    },
  }
}
