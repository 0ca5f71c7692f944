import type { CatalogState, ModelState } from '#libs/contracts/model-state.ts'
import { expectedWaitMs, shortOfSlots, toDrain } from '#libs/demand/demand.ts'
import type { ModelScale } from '#libs/event-bus/scaling-signals.ts'
import type { ModelNow, WorkerNow } from '#libs/live-view/rows.ts'
import type { ModelLoad } from './model-load.ts'
import { round } from './ring.ts'

/** The facts about one model from all sources. */
export type ModelFacts = {
  readonly id: string
  readonly load: ModelLoad
  readonly engines: readonly WorkerNow[]
  /** The number of waiting requests; null while the queue Redis does not answer. */
  readonly waiting: number | null
  readonly oldestWaitMs: number | null
  /** The state that gateways report from the catalog; null if there is none. */
  readonly catalog: CatalogState | null
  /** The last report of a scaler; null without a scaler. */
  readonly scaler: ModelScale | null
}

/** Builds the row of one model. Pure. Rates are means over `windowMs`. */
export function toModelNow(facts: ModelFacts, windowMs: number): ModelNow {
  const { id, load, engines, waiting } = facts
  const ready = engines.filter(({ state }) => state === 'ready')
  const [slots, running] = [sum(ready, 'slots'), sum(engines, 'running')]
  const meanMs = mean(ready.flatMap(({ meanGenerationMs }) => meanGenerationMs ?? []))
  const askedPerS = load.perS('asked', windowMs)
  const endsPerS = load.perS('settled', windowMs)
  const slotLoad = { waiting: waiting ?? 0, running, slots, askedPerS, endsPerS, meanMs }
  const shortSlots = waiting === null ? 0 : shortOfSlots(slotLoad)
  const waitMs = waiting === null ? null : expectedWaitMs(waiting, toDrain(slotLoad))
  return {
    id,
    state: toState(facts, { ready: ready.length, shortSlots }),
    waiting,
    // Until a gateway has reported the model, the number of waiting requests is known and their age is not.
    oldestWaitMs:
      facts.oldestWaitMs === null ? (waiting === 0 ? 0 : null) : Math.round(facts.oldestWaitMs / 100) * 100,
    running,
    slots,
    workers: { ready: ready.length, all: engines.length },
    askedPerS,
    endsPerS,
    failedPerS: load.perS('failed', windowMs),
    meanGenerationMs: meanMs === null ? null : round(meanMs),
    expectedWaitMs: waitMs === null ? null : round(waitMs),
    shortSlots,
    tokensPerS: {
      prompt: load.perS('prompt', windowMs),
      cached: load.perS('cached', windowMs),
      completion: load.perS('completion', windowMs),
    },
    queueMs: load.quantiles('queue'),
    firstTokenMs: load.quantiles('firstToken'),
    refusedPerS: load.refusedPerS(windowMs),
  }
}

function toState(
  { catalog, scaler, engines }: ModelFacts,
  { ready, shortSlots }: { ready: number; shortSlots: number },
): ModelState {
  if (catalog !== null) return catalog
  if (ready > 0) return shortSlots > 0 ? 'short' : 'serving'
  if (engines.some(({ state }) => state === 'loading')) return 'warming'
  // A scaler may have heard a worker that this console has not heard yet.
  return scaler === null || scaler.state === 'serving' ? 'unserved' : scaler.state
}

const sum = (rows: readonly WorkerNow[], field: 'slots' | 'running') =>
  rows.reduce((total, row) => total + row[field], 0)

const mean = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((total, value) => total + value, 0) / values.length
