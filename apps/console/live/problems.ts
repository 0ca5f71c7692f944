import type { ModelState } from '#libs/contracts/model-state.ts'
import type { ClusterNow, ModelNow, Problem, ProcessNow, WorkerNow } from '#libs/live-view/rows.ts'

/** The input of the rules. */
export type Facts = {
  readonly models: readonly ModelNow[]
  readonly workers: readonly WorkerNow[]
  readonly processes: readonly ProcessNow[]
  readonly cluster: Pick<ClusterNow, 'failedShare' | 'redisMemory' | 'versions'>
  readonly sources: { readonly busAwayMs: number; readonly queueAwayMs: number }
}

type Found = Omit<Problem, 'id' | 'since'> & {
  /** How long a problem must last before it is shown. */
  readonly forMs: number
}

export type Problems = {
  /**
   * Returns the present problems with the times at which they began, the gravest kinds first. Must be called regularly,
   * also while nobody watches: a problem begins at the first call that finds it.
   */
  list(facts: Facts): readonly Problem[]
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const NOWHERE = { model: null, worker: null } as const
/** The states in which requests fail for want of a worker. */
const UNSERVED: ReadonlySet<ModelState> = new Set(['unserved', 'stopped', 'starved', 'off'])
/** The most rows of one kind; more would hide the other kinds. */
const MOST_OF_A_NAME = 20

const RUNBOOKS = 'docs/runbooks/'
const WATCH = 'docs/operators.md#what-to-watch'

/**
 * Finds the cluster's problems in the live picture. Errors in billing's accounting are not among them, because billing
 * itself reports these errors. If an alert watches for the same problem, the problem has the alert's name without
 * `Millrace`, so that both lead to the same runbook.
 */
export function createProblems(unixMs: () => number): Problems {
  const since = new Map<string, number>()
  return {
    list(facts) {
      const now = unixMs()
      const present = new Map(findProblems(facts).map((found) => [toId(found), found]))
      for (const id of since.keys()) if (!present.has(id)) since.delete(id)
      for (const id of present.keys()) if (!since.has(id)) since.set(id, now)
      return [...present].flatMap(([id, { forMs, ...problem }]) => {
        const sinceMs = since.get(id) ?? now
        return now - sinceMs < forMs ? [] : [{ ...problem, id, since: new Date(sinceMs).toISOString() }]
      })
    },
  }
}

const toId = ({ name, model, worker }: Found) =>
  [name, model, worker].filter((part) => part !== null).join(' ')

function findProblems(facts: Facts): readonly Found[] {
  return [
    ...redisProblems(facts),
    ...facts.models.flatMap(modelProblem).slice(0, MOST_OF_A_NAME),
    ...failures(facts),
    ...pendingSettlements(facts),
    ...facts.workers.flatMap(workerProblem).slice(0, MOST_OF_A_NAME),
    ...lateProcesses(facts).slice(0, MOST_OF_A_NAME),
    ...versions(facts),
  ]
}

function redisProblems({ sources, cluster }: Facts): Found[] {
  const found: Found[] = []
  const down = (which: string, forMs: number) => ({
    ...NOWHERE,
    name: 'RedisDown',
    severity: 'page' as const,
    text: `${which} has not answered this console for ${toSeconds(forMs)}`,
    runbook: `${RUNBOOKS}redis-down.md`,
    forMs: 0,
  })
  if (sources.queueAwayMs > 5 * SECOND) found.push(down('The queue Redis', sources.queueAwayMs))
  if (cluster.redisMemory !== null && cluster.redisMemory > 0.8) {
    const share = Math.round(cluster.redisMemory * 100)
    found.push({
      ...NOWHERE,
      name: 'RedisMemory',
      severity: 'page',
      text: `The queue Redis uses ${share} % of its memory`,
      runbook: `${RUNBOOKS}redis-memory.md`,
      forMs: 0,
    })
  }
  return found
}

function modelProblem(model: ModelNow): Found[] {
  const { id, waiting, askedPerS, expectedWaitMs, shortSlots, oldestWaitMs } = model
  const about = { model: id, worker: null, severity: 'page' } as const
  if (UNSERVED.has(model.state) && (askedPerS > 0 || (waiting ?? 0) > 0)) {
    const text = `No worker serves ${id}: ${waiting ?? '?'} wait, ${askedPerS} are asked a second`
    return [
      { ...about, name: 'ModelUnserved', text, runbook: `${RUNBOOKS}model-starved.md`, forMs: 5 * SECOND },
    ]
  }
  if (model.state !== 'short') return []
  const wait = expectedWaitMs === null ? 'not known' : toSeconds(expectedWaitMs)
  const refused = Object.values(model.refusedPerS).reduce((sum, perS) => sum + perS, 0)
  const text = `${id} is short of ${shortSlots} slots: ${waiting ?? '?'} wait, expected ${wait}, ${refused} refused a second`
  const short = { ...about, name: 'ModelShort', text, runbook: `${RUNBOOKS}queue-old.md`, forMs: 10 * SECOND }
  if (oldestWaitMs === null || oldestWaitMs < MINUTE) return [short]
  const old = `The oldest request of ${id} has waited for ${toSeconds(oldestWaitMs)}`
  return [{ ...short, name: 'QueueOld', text: old }, short]
}

function failures({ cluster }: Facts): Found[] {
  if (cluster.failedShare === null || cluster.failedShare <= 0.01) return []
  const text = `${(cluster.failedShare * 100).toFixed(1)} % of the generations of the last minute failed`
  const runbook = `${RUNBOOKS}error-budget-burn-fast.md`
  return [{ ...NOWHERE, name: 'ErrorBudgetBurnFast', severity: 'page', text, runbook, forMs: 10 * SECOND }]
}

function pendingSettlements({ processes }: Facts): Found[] {
  const pending = processes.reduce((sum, process_) => sum + (process_.pendingSettlements ?? 0), 0)
  if (pending === 0) return []
  const text = `The queue Redis has not taken ${pending} settlements`
  const runbook = `${RUNBOOKS}pending-settlements.md`
  return [{ ...NOWHERE, name: 'PendingSettlements', severity: 'page', text, runbook, forMs: 30 * SECOND }]
}

function workerProblem(row: WorkerNow): Found[] {
  const about = { model: row.model, worker: row.worker } as const
  switch (row.state) {
    case 'silent': {
      const text = `Worker ${row.name} of ${row.model} sends nothing`
      return [{ ...about, name: 'WorkerSilent', severity: 'page', text, runbook: WATCH, forMs: 5 * SECOND }]
    }
    case 'sick': {
      const text = `The engine of worker ${row.name} was restarted three times within 10 min`
      const runbook = `${RUNBOOKS}engine-restart-loop.md`
      return [{ ...about, name: 'EngineRestartLoop', severity: 'page', text, runbook, forMs: 0 }]
    }
    case 'loading': {
      if (row.loadingMs === null || row.loadingMs < 10 * MINUTE) return []
      const text = `The engine of worker ${row.name} has been loading for ${Math.round(row.loadingMs / MINUTE)} min`
      const runbook = `${RUNBOOKS}start-slow.md`
      return [{ ...about, name: 'StartSlow', severity: 'ticket', text, runbook, forMs: 0 }]
    }
    case 'ready':
    case 'cordoned':
    case 'draining':
      return []
  }
}

function lateProcesses({ processes }: Facts): Found[] {
  return processes
    .filter(({ loopDelayMs }) => loopDelayMs !== null && loopDelayMs > 200)
    .map((process_) => ({
      model: null,
      worker: process_.id,
      name: 'EventLoopLag',
      severity: 'ticket' as const,
      text: `The event loop of ${process_.kind} ${process_.name} is late by ${process_.loopDelayMs} ms`,
      runbook: `${RUNBOOKS}event-loop-lag.md`,
      forMs: 30 * SECOND,
    }))
}

function versions({ cluster }: Facts): Found[] {
  const all = Object.entries(cluster.versions)
  if (all.length < 2) return []
  const text = `Processes run different releases: ${all.map(([version, count]) => `${version} on ${count}`).join(', ')}`
  return [{ ...NOWHERE, name: 'MixedVersions', severity: 'ticket', text, runbook: WATCH, forMs: 10 * MINUTE }]
}

const toSeconds = (ms: number) => `${Math.round(ms / SECOND)} s`
