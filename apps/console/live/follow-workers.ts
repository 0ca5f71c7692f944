import type { Capacity } from '#libs/event-bus/scaling-signals.ts'
import type { EngineReport, WorkerReport } from '#libs/event-bus/reports.ts'
import type { EngineNowState, WorkerNow } from '#libs/live-view/rows.ts'
import type { ModelLoad } from './model-load.ts'
import { createRate, growth, type Rate } from './rates.ts'
import { round } from './ring.ts'

export type FollowWorkers = {
  receive(capacity: Capacity): void
  receiveReport(report: WorkerReport): void
  /** Returns a row for each engine. Forgets engines that have stopped, and engines that were silent for 10 min. */
  rows(quiet: { silentMs: number; windowMs: number; listeningSinceMs: number }): readonly WorkerNow[]
}

type Engine = {
  capacity: Capacity
  heardMs: number
  readonly output: Rate
  readonly prompt: Rate
  readonly cached: Rate
  state: EngineNowState
  since: string
}

type Reported = { readonly report: WorkerReport; readonly heardMs: number }

const FORGET_MS = 600_000
/** Messages come each second; a row shows an age below this as 0. */
const FRESH_MS = 3_000
/**
 * The largest number of engines that the console remembers. A process that restarts has a new id, and a silent engine
 * is remembered for 10 min. So without this bound a crash loop would fill the memory.
 */
const MOST_ENGINES = 5_000

/**
 * Keeps the last capacity message of each engine and the last report of each worker. A capacity message contains
 * counters. The growth of these counters since the engine's previous message is added to the load that `loadOf` returns
 * for the model.
 */
export function createFollowWorkers(deps: {
  loadOf: (model: string) => ModelLoad
  nowMs: () => number
  unixMs: () => number
}): FollowWorkers {
  const { loadOf, nowMs, unixMs } = deps
  const engines = new Map<string, Engine>()
  const reports = new Map<string, Reported>()

  function toRow(
    id: string,
    engine: Engine,
    of: { silentMs: number; windowMs: number; listeningSinceMs: number },
  ) {
    const { capacity } = engine
    const now = nowMs()
    const quietMs = now - Math.max(engine.heardMs, of.listeningSinceMs)
    const state = quietMs > of.silentMs ? 'silent' : capacity.phase
    if (state !== engine.state) {
      engine.state = state
      engine.since = new Date(unixMs()).toISOString()
    }
    const report = reports.get(capacity.id)?.report
    const described = report?.engines.find(({ model }) => model === capacity.model)
    const prompt = engine.prompt.perS(now, of.windowMs)
    const row: WorkerNow = {
      id,
      worker: capacity.id,
      name: capacity.name,
      model: capacity.model,
      state,
      since: engine.since,
      running: state === 'silent' ? 0 : capacity.running,
      slots: capacity.slots,
      kvUse: toKvUse(capacity),
      cacheHits: prompt === 0 ? null : toShare(engine.cached.perS(now, of.windowMs) / prompt),
      outputPerS: engine.output.perS(now, of.windowMs),
      meanGenerationMs: capacity.meanGenerationMs === null ? null : round(capacity.meanGenerationMs),
      loadingMs: capacity.loadingMs === null ? null : Math.round(capacity.loadingMs / 1_000) * 1_000,
      seenMs: quietMs > FRESH_MS ? Math.round(now - engine.heardMs) : 0,
      node: capacity.node,
      pool: capacity.pool,
      ...ofReport(report, described),
    }
    return row
  }

  return {
    receive(capacity) {
      const id = `${capacity.id} ${capacity.model}`
      const known = engines.get(id)
      if (known === undefined && engines.size >= MOST_ENGINES) return
      const engine = known ?? {
        capacity,
        heardMs: 0,
        output: createRate(nowMs),
        prompt: createRate(nowMs),
        cached: createRate(nowMs),
        state: capacity.phase,
        since: new Date(unixMs()).toISOString(),
      }
      const before = known?.capacity
      const load = loadOf(capacity.model)
      const [output, prompt, cached] = [
        growth(before?.outputTokens, capacity.outputTokens),
        growth(before?.promptTokens, capacity.promptTokens),
        growth(before?.cachedTokens, capacity.cachedTokens),
      ]
      engine.output.add(output)
      engine.prompt.add(prompt)
      engine.cached.add(cached)
      load.add('completion', output)
      load.add('prompt', prompt)
      load.add('cached', cached)
      load.add('ended', growth(before?.ended, capacity.ended))
      engine.capacity = capacity
      engine.heardMs = nowMs()
      engines.set(id, engine)
    },
    receiveReport(report) {
      reports.set(report.id, { report, heardMs: nowMs() })
    },
    rows(of) {
      const now = nowMs()
      for (const [id, { heardMs }] of reports) if (now - heardMs > FORGET_MS) reports.delete(id)
      const rows: WorkerNow[] = []
      for (const [id, engine] of engines) {
        const row = toRow(id, engine, of)
        // A silent engine that was draining has stopped as intended.
        const hasStopped = row.state === 'silent' && engine.capacity.phase === 'draining'
        if (hasStopped || now - engine.heardMs > FORGET_MS) engines.delete(id)
        else rows.push(row)
      }
      return rows
    },
  }
}

function toKvUse({ kvUsed, kvCapacity }: Capacity): number | null {
  return kvUsed === null || kvCapacity === null || kvCapacity === 0 ? null : toShare(kvUsed / kvCapacity)
}

/** Rounds to whole percent, the precision that is shown. */
const toShare = (share: number) => Math.round(share * 100) / 100

function ofReport(report: WorkerReport | undefined, engine: EngineReport | undefined) {
  return {
    host: report?.host ?? null,
    version: report?.version ?? null,
    pendingSettlements: report?.pendingSettlements ?? null,
    engineWaiting: engine?.waiting ?? null,
    engineVersion: engine?.version ?? null,
    address: engine?.address ?? null,
    contextWindow: engine?.contextWindow ?? null,
    problem: engine?.problem ?? null,
    refuses: engine?.refuses ?? null,
  }
}
