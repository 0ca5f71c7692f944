import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'
import type { Waiting } from '#libs/generation-record/count-waiting.ts'
import { decideRound, type ClassGpus, type PoolChange } from './decide/decide-round.ts'
import { isFrozen, type KedaSwitches } from './decide/keda-switches.ts'
import { predictStart, predictWholeStart } from './decide/predict-start.ts'
import {
  NO_BUDGET_STATE,
  NO_START_TIMES,
  type ModelLoad,
  type PodPhase,
  type PodView,
} from './decide/types.ts'
import type { ModelReport } from './model-report.ts'
import { scaleGateways } from './scale-gateways.ts'
import type { ScaledModel, ScalerModels } from './scaler-models.ts'
import type { PoolAnswer, PoolStarts, Snapshot } from './snapshot.ts'

/** The input of one round; times in Unix ms. */
export type RoundInput = {
  readonly scaler: ScalerModels
  readonly loadOf: (model: string) => ModelLoad & { readonly ready: number }
  readonly waitingOf: (model: string) => Waiting
  readonly podsOf: (pool: string) => readonly PodView[]
  /** The switches of a ScaledObject, which has the name of its pool or Deployment. */
  readonly switchesOf: (name: string) => KedaSwitches
  /** The load of all gateways; null when none reports. */
  readonly gateways: { openStreams: number; loopDelayMs: number } | null
  /** The replicas in the spec of the gateways' Deployment; null when unknown. */
  readonly gatewayReplicas: number | null
  readonly starts: Readonly<Record<string, PoolStarts>>
  /** The last snapshot; null when there is none. */
  readonly before: Snapshot | null
  readonly nowMs: number
}

export type Round = {
  /** The next snapshot without its term and means. */
  readonly next: Pick<Snapshot, 'answers' | 'pools' | 'budget' | 'starts' | 'gateway' | 'starving' | 'report'>
  readonly changes: ReadonlyMap<string, PoolChange>
  readonly gpus: ReadonlyMap<string, ClassGpus>
}

/** A model without a GPU for this long is starved. */
const STARVED_MS = 600_000

/** One round of the leader, without I/O: the decisions, the answers to KEDA, and the model states for gateways. */
export function planRound(input: RoundInput): Round {
  const { scaler, before, nowMs } = input
  const models = scaler.models.map(({ model, pools }) => ({
    model,
    load: input.loadOf(model),
    pools: pools.map((spec) => ({
      spec,
      pods: input.podsOf(spec.pool),
      switches: input.switchesOf(spec.pool),
    })),
  }))
  const state = { pools: before?.pools ?? {}, budget: before?.budget ?? NO_BUDGET_STATE }
  const { budget, hpaTolerance } = scaler
  const decided = decideRound({ models, budget, state, hpaTolerance, nowMs })
  const answers: Record<string, PoolAnswer> = Object.fromEntries(
    [...decided.changes].map(([pool, { target, isActive }]) => [pool, { target, isActive }]),
  )
  const gateway = planGateways(input)
  if (scaler.gateway !== null && gateway !== null) {
    answers[scaler.gateway.deployment] = { target: gateway.target, isActive: true }
  }
  const starving: Record<string, number> = {}
  const report = scaler.models.map((model) => {
    const sinceMs = starvingSince(model, input, decided.changes)
    if (sinceMs !== null) starving[model.model] = sinceMs
    const need = decided.needs.get(model.model)
    return {
      ...toModelState(model, input, { changes: decided.changes, sinceMs }),
      need: need?.raw ?? 0,
      term: need?.term ?? 'zero',
      terms: need?.terms ?? {},
      ...toLoadReport(model.model, input),
      pools: model.pools.map(({ pool }) => toPoolReport(pool, input, decided.changes.get(pool))),
    }
  })
  const next = { answers, ...decided.state, starts: input.starts, gateway, starving, report }
  return { next, changes: decided.changes, gpus: decided.gpus }
}

function planGateways({ scaler, before, gateways, gatewayReplicas, switchesOf, nowMs }: RoundInput) {
  const pool = scaler.gateway
  if (pool === null) return null
  const state = before?.gateway ?? { target: gatewayReplicas ?? pool.min, lastDownMs: nowMs }
  const switches = switchesOf(pool.deployment)
  return scaleGateways({ pool, state, load: gateways, switches, replicas: gatewayReplicas, nowMs })
}

type Changes = ReadonlyMap<string, PoolChange>

/**
 * Returns the time since which the model lacks pods: it should have replicas, but no pod is in a phase of `HOPEFUL`,
 * and no worker serves the model. Returns null if the model does not lack pods.
 */
function starvingSince({ model, pools }: ScaledModel, input: RoundInput, changes: Changes): number | null {
  const pods = pools.flatMap(({ pool }) => input.podsOf(pool))
  const isWanted = pools.some(({ pool }) => (changes.get(pool)?.want ?? 0) > 0)
  const hasHope = pods.some(({ phase }) => HOPEFUL.has(phase)) || input.loadOf(model).ready > 0
  return isWanted && !hasHope ? (input.before?.starving[model] ?? input.nowMs) : null
}

/** Phases in which a pod serves, will serve or may serve again. */
const HOPEFUL: ReadonlySet<PodPhase> = new Set(['loading', 'ready', 'cordoned', 'silent'])

function toModelState(
  { model, pools }: ScaledModel,
  input: RoundInput,
  now: { changes: Changes; sinceMs: number | null },
): ModelScale {
  const { ready } = input.loadOf(model)
  const target = pools.reduce((sum, { pool }) => sum + (now.changes.get(pool)?.target ?? 0), 0)
  const isOff = pools.every((spec) => spec.max === 0 || isHeldAtZero(spec.pool, input, now.changes))
  const isStarved = now.sinceMs !== null && input.nowMs - now.sinceMs >= STARVED_MS
  const state = ((): ModelScale['state'] => {
    if (ready > 0) return 'serving'
    if (isOff) return 'off'
    if (isStarved) return 'starved'
    return target > 0 || now.sinceMs !== null ? 'warming' : 'stopped'
  })()
  const etaMs = state === 'warming' || state === 'stopped' ? toEtaMs(pools, input) : null
  return { model, state, ready, target, etaMs }
}

/** Returns true if a pool has no replica and KEDA starts none, because an operator has paused the pool. */
function isHeldAtZero(pool: string, input: RoundInput, changes: Changes): boolean {
  const hasNone = input.podsOf(pool).length === 0 && (changes.get(pool)?.target ?? 0) === 0
  return hasNone && input.switchesOf(pool).isOutPaused
}

/**
 * Returns the time until the next worker is ready. If no pod of the model is starting, returns how long a start takes.
 */
function toEtaMs(pools: ScaledModel['pools'], input: RoundInput): number {
  const timesOf = (pool: string) => input.starts[pool]?.times ?? NO_START_TIMES
  const starting = pools.flatMap((spec) => {
    const left = predictStart({ spec, kept: timesOf(spec.pool), pods: input.podsOf(spec.pool) })
    return left === null ? [] : [left]
  })
  const etas =
    starting.length > 0 ? starting : pools.map((spec) => predictWholeStart(spec, timesOf(spec.pool)))
  return Math.round(Math.min(...etas))
}

function toLoadReport(model: string, input: RoundInput) {
  const { freshPerS, idleForMs, ready: _ready, unserved: _unserved, ...measured } = input.loadOf(model)
  return {
    ...measured,
    offeredPerS: round(freshPerS),
    oldestMs: input.waitingOf(model).oldestMs,
    idleForMs: Math.round(idleForMs),
  }
}

function toPoolReport(
  pool: string,
  input: RoundInput,
  change: PoolChange | undefined,
): ModelReport['pools'][number] {
  const pods: Record<string, number> = {}
  for (const { phase } of input.podsOf(pool)) pods[phase] = (pods[phase] ?? 0) + 1
  return {
    pool,
    want: change?.want ?? 0,
    given: change?.given ?? 0,
    target: change?.target ?? 0,
    reason: change?.reason ?? '',
    pause: toPause(input.switchesOf(pool)),
    pods,
    cordoned: change?.state.cordoned.length ?? 0,
    released: change?.state.released.length ?? 0,
  }
}

function toPause(switches: KedaSwitches): ModelReport['pools'][number]['pause'] {
  if (isFrozen(switches)) return 'both'
  if (switches.isInPaused) return 'in'
  return switches.isOutPaused ? 'out' : 'none'
}

const round = (value: number) => Math.round(value * 1_000) / 1_000
