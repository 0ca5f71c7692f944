import type { ClusterNow, ModelNow, ProcessNow } from '#libs/live-view/rows.ts'
import type { ModelLoad } from './model-load.ts'
import { round } from './ring.ts'

const MINUTE_MS = 60_000

/** Sums the rows of all models. Pure. */
export function toClusterNow(of: {
  models: readonly ModelNow[]
  /** The load of all models together. */
  whole: ModelLoad
  windowMs: number
  processes: readonly ProcessNow[]
  gateways: number
  redisMemory: number | null
}): ClusterNow {
  const { models, whole, windowMs, processes } = of
  const sum = (value: (model: ModelNow) => number) => models.reduce((total, model) => total + value(model), 0)
  const known = models.flatMap(({ waiting }) => waiting ?? [])
  const ended = whole.perS('settled', MINUTE_MS)
  return {
    askedPerS: whole.perS('asked', windowMs),
    waiting: known.length === 0 ? null : known.reduce((total, waiting) => total + waiting, 0),
    running: sum(({ running }) => running),
    slots: sum(({ slots }) => slots),
    workers: { ready: sum(({ workers }) => workers.ready), all: sum(({ workers }) => workers.all) },
    gateways: of.gateways,
    tokensPerS: {
      prompt: whole.perS('prompt', windowMs),
      cached: whole.perS('cached', windowMs),
      completion: whole.perS('completion', windowMs),
    },
    queueMs: whole.quantiles('queue'),
    firstTokenMs: whole.quantiles('firstToken'),
    refusedPerS: whole.refusedPerS(windowMs),
    endsPerS: whole.perS('settled', windowMs),
    failedPerS: whole.perS('failed', windowMs),
    failedShare: ended === 0 ? null : round(Math.min(1, whole.perS('failed', MINUTE_MS) / ended)),
    redisMemory: of.redisMemory === null ? null : round(of.redisMemory),
    versions: countVersions(processes),
  }
}

function countVersions(processes: readonly ProcessNow[]): Record<string, number> {
  const versions = Map.groupBy(processes, ({ version }) => version)
  return Object.fromEntries(Array.from(versions, ([version, of]) => [version, of.length]))
}
