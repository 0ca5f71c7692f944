import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import {
  describeProcess,
  type EndedReport,
  type GatewayReport,
  type ModelReport,
} from '#libs/event-bus/reports.ts'
import { packBuckets } from '#libs/event-bus/time-buckets.ts'
import { chooseEnded, type ChosenEnd } from './choose-ended.ts'
import type { RequestBook, RequestEntry, TenantCounts } from './request-book.ts'

const MOST_TENANTS = 20
const MOST_OPEN = 200
/** The largest number of ended requests in a report. A report is sent every 2 s, so this is 50 requests a second. */
const MOST_ENDED = 100
/**
 * The largest number of ended requests in the first report after a viewer has begun to watch. This report chooses from
 * all ended requests that the `RequestBook` still keeps.
 */
const MOST_ENDED_AT_FIRST = 500

/** Returns the function that makes this gateway's reports. Lists are bounded; models come from the catalog. */
export function createBuildReport(deps: {
  self: { readonly id: string; readonly name: string }
  book: RequestBook
  models: () => readonly Pick<ModelSpec, 'id' | 'enabled' | 'fixedState'>[]
  pendingSettlements: () => number
  /** The monotonic clock of the book. */
  nowMs: () => number
}): (state: { watched: boolean; begins: boolean }) => GatewayReport {
  const { book, models, pendingSettlements, nowMs } = deps
  const process_ = describeProcess(deps.self)

  function takeEnded({ watched, begins }: { watched: boolean; begins: boolean }): readonly ChosenEnd[] {
    const ended = book.takeEnded()
    if (!watched) return []
    if (!begins) return chooseEnded(ended, MOST_ENDED)
    const kept = book.lastEnded()
    return chooseEnded({ kept, count: kept.length }, MOST_ENDED_AT_FIRST)
  }

  return (state) => {
    const now = nowMs()
    const open = [...book.openRequests()]
    const oldest = oldestWaits(open)
    return {
      ...process_,
      kind: 'gateway',
      pendingSettlements: pendingSettlements(),
      models: Object.fromEntries(
        models().map((model) => {
          const { asked, refused, failed, queueMs, firstTokenMs } = book.counts(model.id)
          const since = oldest.get(model.id)
          const report = {
            catalog: toCatalogState(model),
            asked,
            refused: Object.fromEntries(refused),
            failed: Object.fromEntries(failed),
            queueMs: packBuckets(queueMs),
            firstTokenMs: packBuckets(firstTokenMs),
            oldestWaitMs: since === undefined ? null : Math.max(0, now - since),
          }
          return [model.id, report]
        }),
      ),
      tenants: busiest(book.tenants()),
      open: open.slice(0, MOST_OPEN).map((entry) => toOpen(entry, now)),
      ended: takeEnded(state).map((end) => toEnded(end, now)),
    }
  }
}

/** Returns the arrival of the oldest waiting request of each model. */
function oldestWaits(open: readonly RequestEntry[]): Map<string, number> {
  const oldest = new Map<string, number>()
  for (const { model, stage, receivedMs } of open) {
    if (stage === 'waiting' && receivedMs < (oldest.get(model) ?? Infinity)) oldest.set(model, receivedMs)
  }
  return oldest
}

function toCatalogState(model: Pick<ModelSpec, 'enabled' | 'fixedState'>): ModelReport['catalog'] {
  if (!model.enabled) return 'disabled'
  return model.fixedState === null ? null : 'fixed'
}

/** Sorts by the number of open requests, then by the number of refusals. */
function busiest(tenants: readonly TenantCounts[]) {
  return tenants
    .toSorted((a, b) => b.waiting + b.running - (a.waiting + a.running) || b.refused - a.refused)
    .slice(0, MOST_TENANTS)
    .map(({ accountId, model, waiting, running, refused }) => ({
      accountId,
      model,
      waiting,
      running,
      refused,
    }))
}

function toOpen({ id, accountId, model, stage, receivedMs, tokens }: RequestEntry, now: number) {
  return { id, accountId, model, stage, ageMs: Math.max(0, now - receivedMs), tokens: tokens() }
}

function toEnded({ entry, kind, weight }: ChosenEnd, now: number) {
  const { id, accountId, model, code, usage, receivedMs, claimedMs, outputMs } = entry
  const endedMs = entry.endedMs ?? now
  const since = (ms: number | null, fromMs: number) => (ms === null ? null : Math.max(0, ms - fromMs))
  return {
    id,
    accountId,
    model,
    kind,
    outcome: toOutcome(entry),
    code,
    weight,
    endedAgoMs: Math.max(0, now - endedMs),
    totalMs: Math.max(0, endedMs - receivedMs),
    waitedMs: since(claimedMs, entry.admittedMs ?? receivedMs),
    firstTokenMs: since(outputMs, receivedMs),
    promptTokens: usage?.promptTokens ?? null,
    completionTokens: usage?.completionTokens ?? null,
  }
}

function toOutcome({ code, usage }: RequestEntry): EndedReport['outcome'] {
  if (code !== null) return 'failed'
  return usage === null ? 'cancelled' : 'completed'
}
