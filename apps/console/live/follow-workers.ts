import { toReportedEngines, type ReportedEngine, type WorkerHeartbeat } from '#libs/event-bus/heartbeat.ts'
import type { WorkerReport } from '#libs/event-bus/reports.ts'
import type { EngineNowState, WorkerNow } from '#libs/live-view/rows.ts'
import type { ModelLoad } from './model-load.ts'
import { createRate, growth, type Rate } from './rates.ts'
import { round } from './ring.ts'

export type FollowWorkers = {
  receive(heartbeat: WorkerHeartbeat): void
  receiveReport(report: WorkerReport): void
  /** Returns a row for each engine. Forgets engines that have stopped, and engines that were silent for 10 min. */
  rows(quiet: { silentMs: number; windowMs: number; listeningSinceMs: number }): readonly WorkerNow[]
}

type Engine = {
  last: ReportedEngine
  heardMs: number
  readonly output: Rate
  readonly prompt: Rate
  readonly cached: Rate
  state: EngineNowState
  since: string
}

type Reported = { readonly report: WorkerReport; readonly heardMs: number }

const FORGET_MS = 600_000
/** Heartbeats come each second; a row shows an age below this as 0. */
const FRESH_MS = 3_000
/**
 * The largest number of engines that the console remembers. A process that restarts has a new id, and a silent engine
 * is remembered for 10 min. So without this bound a crash loop would fill the memory.
 */
const MOST_ENGINES = 5_000

/**
 * Keeps the last heartbeat of each engine and the last report of each worker. A heartbeat contains counters. The growth
 * of these counters since the engine's previous heartbeat is added to the load that `loadOf` returns for the model.
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
    const { last } = engine
    const now = nowMs()
    const quietMs = now - Math.max(engine.heardMs, of.listeningSinceMs)
    const state = quietMs > of.silentMs ? 'silent' : last.phase
    if (state !== engine.state) {
      engine.state = state
      engine.since = new Date(unixMs()).toISOString()
    }
    const report = reports.get(last.id)?.report
    const described = report?.engines.find(({ model }) => model === last.model)
    const prompt = engine.prompt.perS(now, of.windowMs)
    const row: WorkerNow = {
      id,
      worker: last.id,
      name: last.name,
      model: last.model,
      state,
      since: engine.since,
      running: state === 'silent' ? 0 : last.running,
      slots: last.slots,
      kvUse: toKvUse(last),
      cacheHits: prompt === 0 ? null : toShare(engine.cached.perS(now, of.windowMs) / prompt),
      outputPerS: engine.output.perS(now, of.windowMs),
      meanGenerationMs: last.meanGenerationMs === null ? null : round(last.meanGenerationMs),
      loadingMs: last.loadingMs === null ? null : Math.round(last.loadingMs / 1_000) * 1_000,
      seenMs: quietMs > FRESH_MS ? Math.round(now - engine.heardMs) : 0,
      node: last.node,
      pool: last.pool,
      engineWaiting: last.waiting,
      engineVersion: last.version,
      contextWindow: last.contextWindow,
      host: report?.host ?? null,
      version: report?.version ?? null,
      pendingSettlements: report?.pendingSettlements ?? null,
      address: described?.address ?? null,
      problem: described?.problem ?? null,
      refuses: described?.refuses ?? null,
    }
    return row
  }

  function note(now: ReportedEngine): void {
    const id = `${now.id} ${now.model}`
    const known = engines.get(id)
    if (known === undefined && engines.size >= MOST_ENGINES) return
    const engine = known ?? {
      last: now,
      heardMs: 0,
      output: createRate(nowMs),
      prompt: createRate(nowMs),
      cached: createRate(nowMs),
      state: now.phase,
      since: new Date(unixMs()).toISOString(),
    }
    const before = known?.last
    const load = loadOf(now.model)
    const [output, prompt, cached] = [
      growth(before?.outputTokens, now.outputTokens),
      growth(before?.promptTokens, now.promptTokens),
      growth(before?.cachedTokens, now.cachedTokens),
    ]
    engine.output.add(output)
    engine.prompt.add(prompt)
    engine.cached.add(cached)
    load.add('completion', output)
    load.add('prompt', prompt)
    load.add('cached', cached)
    engine.last = now
    engine.heardMs = nowMs()
    engines.set(id, engine)
  }

  return {
    receive(heartbeat) {
      for (const engine of toReportedEngines(heartbeat)) note(engine)
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
        const hasStopped = row.state === 'silent' && engine.last.phase === 'draining'
        if (hasStopped || now - engine.heardMs > FORGET_MS) engines.delete(id)
        else rows.push(row)
      }
      return rows
    },
  }
}

function toKvUse({ kvUsed, kvCapacity }: ReportedEngine): number | null {
  return kvUsed === null || kvCapacity === null || kvCapacity === 0 ? null : toShare(kvUsed / kvCapacity)
}

/** Rounds to whole percent, the precision that is shown. */
const toShare = (share: number) => Math.round(share * 100) / 100
