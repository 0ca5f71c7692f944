import type { Report } from '#libs/event-bus/reports.ts'
import type { WorkerHeartbeat } from '#libs/event-bus/heartbeat.ts'
import type { ModelScale, ModelStates } from '#libs/event-bus/scaling-signals.ts'
import {
  ModelLine,
  type ClusterNow,
  type ModelNow,
  type ProcessNow,
  type WorkerNow,
} from '#libs/live-view/rows.ts'
import type { ModelView, NowView, RequestsView, WorkersView } from '#libs/live-view/views.ts'
import { createFollowGateways, type GatewayLoad } from './follow-gateways.ts'
import { createFollowProcesses } from './follow-processes.ts'
import { createFollowWorkers } from './follow-workers.ts'
import { createHistories, type Histories, type Values } from './histories.ts'
import { createModelLoad, type ModelLoad } from './model-load.ts'
import { createProblems } from './problems.ts'
import { growth } from './rates.ts'
import { toSteadyModel, toSteadyWorker } from './steady.ts'
import { toClusterNow } from './to-cluster-now.ts'
import { toModelNow } from './to-model-now.ts'

/** The numbers of one model in the queue Redis. `settled` counts all entries ever added to its settlement stream. */
export type QueueFacts = { readonly waiting: number; readonly settled: number }

export type Picture = {
  receiveWorker(heartbeat: WorkerHeartbeat): void
  receiveDemand(load: GatewayLoad): void
  receiveStates(states: ModelStates): void
  receiveReport(report: Report): void
  /** Takes the newest answer of the queue Redis. A model that it does not name keeps its last numbers. */
  receiveQueues(queues: ReadonlyMap<string, QueueFacts>): void
  receiveMemory(share: number | null): void
  /** Sets whether signals come all the time or only for a moment every 15 s. */
  setWatched(watched: boolean): void
  /** Returns all models that any source has named. */
  models(): readonly string[]
  /** Computes the rows and writes the histories. Must be called each second while watched, else every 5 s. */
  tick(): void
  /** Returns the rows of the last tick. */
  rows(): readonly ModelNow[]
  now(): Omit<NowView, keyof NowHistories>
  nowHistories(): NowHistories
  workers(): WorkersView
  requests(): RequestsView
  model(id: string): Omit<ModelView, keyof ModelHistories>
  modelHistories(id: string): ModelHistories
}

/** The histories have thousands of values, so they are sent in snapshots only, and not in the delta of each tick. */
type NowHistories = Pick<NowView, 'histories' | 'sparklines'>
type ModelHistories = Pick<ModelView, 'histories' | 'longHistories'>

/**
 * A process counts as silent after this time without a signal. While the picture is watched, signals come each second.
 * Otherwise they come for a moment every 15 s.
 */
const SILENT_MS = { watched: 5_000, unwatched: 40_000 }
/** Rates are means over this time, which spans at least two reports. */
const WINDOW_MS = { watched: 10_000, unwatched: 45_000 }
/** A gateway counts as silent after this time without a report: two reports are missing and the third is late. */
const REPORT_SILENT_MS = { watched: 7_000, unwatched: 40_000 }
const AWAY_MS = 5_000
/**
 * The largest number of models, which is more than any catalog has. The names come from the bus, so their number must
 * be bounded.
 */
const MOST_MODELS = 2_000
const STATES_FRESH_MS = 5_000
/**
 * A tick writes its values to the histories for every second since the previous tick, if the previous tick was at most
 * this many seconds ago. After a longer pause a tick writes its values for the present second only.
 */
const MOST_SECONDS = 5

/**
 * Keeps the live picture of a cluster in memory. The picture has rows, which are computed from the messages of the
 * cluster's processes and from the lengths of its queues. Other modules read the messages and the lengths, so this
 * function opens no connections.
 */
export function createPicture(deps: { nowMs: () => number; unixMs: () => number }): Picture {
  const { nowMs, unixMs } = deps
  const whole = createModelLoad(nowMs, null)
  const known = new Map<string, { load: ModelLoad; histories: Histories; queue: QueueFacts | null }>()
  const spare = createModelLoad(nowMs, null)
  const histories = createHistories()
  const problems = createProblems(unixMs)
  let states: { atMs: number; byModel: ReadonlyMap<string, ModelScale> } = {
    atMs: -Infinity,
    byModel: new Map(),
  }
  let watched = false
  let listeningSinceMs = nowMs()
  let queueReadMs = nowMs()
  let busHeardMs = nowMs()
  let memory: number | null = null
  let workers: readonly WorkerNow[] = []
  let models: readonly ModelNow[] = []
  let processes: readonly ProcessNow[] = []
  let found: NowView['problems'] = []
  let cluster: ClusterNow
  let tickedAt = -Infinity

  const mode = () => (watched ? 'watched' : 'unwatched')

  function modelOf(id: string) {
    const model = known.get(id)
    if (model !== undefined) return model
    if (known.size >= MOST_MODELS) return null
    const added = { load: createModelLoad(nowMs, whole), histories: createHistories(), queue: null }
    known.set(id, added)
    return added
  }

  const loadOf = (id: string) => modelOf(id)?.load ?? spare
  const followWorkers = createFollowWorkers({ loadOf, nowMs, unixMs })
  const followGateways = createFollowGateways({ loadOf, nowMs, unixMs })
  const followProcesses = createFollowProcesses({ nowMs })

  function sources() {
    const away = (sinceMs: number, afterMs: number) => {
      const ms = nowMs() - sinceMs
      return ms > afterMs ? Math.round(ms / 1_000) * 1_000 : 0
    }
    return {
      busAwayMs: away(busHeardMs, REPORT_SILENT_MS[mode()]),
      queueAwayMs: away(queueReadMs, watched ? AWAY_MS : SILENT_MS.unwatched),
    }
  }

  function compute() {
    const windowMs = WINDOW_MS[mode()]
    const workersBefore = new Map(workers.map((row) => [row.id, row]))
    workers = followWorkers
      .rows({ silentMs: SILENT_MS[mode()], windowMs, listeningSinceMs })
      .map((row) => toSteadyWorker(workersBefore.get(row.id), row))
    const byModel = Map.groupBy(workers, ({ model }) => model)
    const ofGateways = followGateways.models()
    for (const id of [...byModel.keys(), ...ofGateways.keys()]) modelOf(id)
    const queueAway = sources().queueAwayMs > 0
    const scaled = nowMs() - states.atMs < STATES_FRESH_MS ? states.byModel : null
    const modelsBefore = new Map(models.map((row) => [row.id, row]))
    models = Array.from(known, ([id, { load, queue }]) => {
      const { catalog = null, oldestWaitMs = null } = ofGateways.get(id) ?? {}
      const facts = {
        id,
        load,
        engines: byModel.get(id) ?? [],
        waiting: queueAway ? null : (queue?.waiting ?? null),
        oldestWaitMs,
        catalog,
        scaler: scaled?.get(id) ?? null,
      }
      return toSteadyModel(modelsBefore.get(id), toModelNow(facts, windowMs))
    })
    const gateways = followGateways.gateways(REPORT_SILENT_MS[mode()])
    processes = followProcesses.rows({ gateways, silentMs: REPORT_SILENT_MS[mode()] })
    cluster = toClusterNow({
      models,
      whole,
      windowMs,
      processes,
      gateways: gateways.length,
      redisMemory: memory,
    })
    found = [...problems.list({ models, workers, processes, cluster, sources: sources() })]
  }

  compute()

  return {
    receiveWorker(heartbeat) {
      busHeardMs = nowMs()
      followWorkers.receive(heartbeat)
    },
    receiveDemand(load) {
      busHeardMs = nowMs()
      followGateways.receive(load)
    },
    receiveStates(message) {
      const byModel = new Map(message.models.map((state) => [state.model, state]))
      states = { atMs: nowMs(), byModel }
    },
    receiveReport(report) {
      busHeardMs = nowMs()
      followProcesses.receive(report)
      if (report.kind === 'worker') followWorkers.receiveReport(report)
      else followGateways.receiveReport(report)
    },
    receiveQueues(queues) {
      queueReadMs = nowMs()
      for (const [id, queue] of queues) {
        const model = modelOf(id)
        if (model === null) continue
        model.load.add('settled', growth(model.queue?.settled, queue.settled))
        model.queue = queue
      }
    },
    receiveMemory(share) {
      memory = share
    },
    setWatched(next) {
      if (next && !watched) listeningSinceMs = nowMs()
      watched = next
    },
    models: () => [...known.keys()],
    tick() {
      compute()
      const now = unixMs()
      const passed = Math.round((now - tickedAt) / 1_000)
      const seconds = passed >= 1 && passed <= MOST_SECONDS ? passed : 1
      tickedAt = now
      const write = (to: Histories | undefined, values: Values) => {
        for (let ago = seconds - 1; ago >= 0; ago -= 1) to?.write(now - ago * 1_000, values)
      }
      write(histories, toValues(cluster))
      for (const row of models) write(known.get(row.id)?.histories, toValues(row))
    },
    rows: () => models,
    now: () => ({
      sources: sources(),
      cluster,
      problems: found,
      models: models.map((row) => ModelLine.parse(row)),
    }),
    nowHistories: () => ({
      histories: histories.short(),
      sparklines: Object.fromEntries(
        Array.from(known, ([id, model]) => [id, model.histories.sparkline()] as const),
      ),
    }),
    workers: () => ({ sources: sources(), workers: [...workers], processes: [...processes] }),
    requests: () => ({
      sources: sources(),
      open: [...followGateways.open(null)],
      ended: [...followGateways.ended()],
    }),
    model: (id) => ({
      sources: sources(),
      model: models.find((row) => row.id === id) ?? null,
      problems: found.filter(({ model }) => model === id),
      tenants: followGateways.tenants(WINDOW_MS[mode()]).filter(({ model }) => model === id),
      workers: workers.filter(({ model }) => model === id),
      open: [...followGateways.open(id)],
    }),
    modelHistories: (id) => ({
      histories: (known.get(id)?.histories ?? EMPTY).short(),
      longHistories: (known.get(id)?.histories ?? EMPTY).long(),
    }),
  }
}

const EMPTY = createHistories()

function toValues(row: ModelNow | ClusterNow): Values {
  return {
    waiting: row.waiting,
    running: row.running,
    asked: row.askedPerS,
    output: row.tokensPerS.completion,
    refused: Object.values(row.refusedPerS).reduce((sum, perS) => sum + perS, 0),
    firstToken: row.firstTokenMs.p95,
  }
}
