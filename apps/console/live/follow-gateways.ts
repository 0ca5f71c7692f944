import type { EndedReport, GatewayReport, ModelReport, OpenReport } from '#libs/event-bus/reports.ts'
import type { Demand } from '#libs/event-bus/scaling-signals.ts'
import { unpackBuckets } from '#libs/event-bus/time-buckets.ts'
import type { EndedRequest, OpenRequest, TenantNow } from '#libs/live-view/rows.ts'
import type { ModelLoad } from './model-load.ts'
import { createRate, growth, type Rate } from './rates.ts'

/** The fields of a gateway's demand that are shown. */
export type GatewayLoad = Pick<Demand, 'id' | 'openStreams' | 'loopDelayMs'>

export type FollowGateways = {
  receive(load: GatewayLoad): void
  receiveReport(report: GatewayReport): void
  /** The gateways whose last message is at most `silentMs` old. */
  gateways(silentMs: number): readonly { id: string; load: GatewayLoad | null }[]
  models(): ReadonlyMap<
    string,
    { readonly catalog: ModelReport['catalog']; readonly oldestWaitMs: number | null }
  >
  tenants(windowMs: number): readonly TenantNow[]
  /** Open requests, the oldest first. */
  open(model: string | null): readonly OpenRequest[]
  /** Ended requests, the newest first. */
  ended(): readonly EndedRequest[]
}

/** The fields of a report that are kept until the gateway's next report. */
type KeptReport = Pick<GatewayReport, 'models' | 'tenants'>

type Gateway = {
  load: GatewayLoad | null
  report: KeptReport | null
  reportedMs: number
  /**
   * The open requests of the gateway's last report, as rows. They stay the same objects until the next report. So
   * `toDelta`, which compares the rows of two ticks, finds them unchanged between two reports.
   */
  open: readonly OpenRequest[]
  heardMs: number
}

const FORGET_MS = 60_000
const MOST_GATEWAYS = 1_000
/** The limits below apply to all gateways together. */
const MOST_TENANTS = 200
const MOST_OPEN = 200
const MOST_ENDED = 500
const TENANT_IDLE_MS = 60_000

/**
 * Keeps the last demand and the last report of each gateway. Reports contain counters for each model. The growth of
 * these counters since the gateway's previous report is added to the load that `loadOf` returns for the model.
 */
export function createFollowGateways(deps: {
  loadOf: (model: string) => ModelLoad
  nowMs: () => number
  unixMs: () => number
}): FollowGateways {
  const { loadOf, nowMs, unixMs } = deps
  const gateways = new Map<string, Gateway>()
  const refusals = new Map<string, { rate: Rate; touchedMs: number }>()
  let ended: EndedRequest[] = []

  function gatewayOf(id: string): Gateway | null {
    const known = gateways.get(id)
    if (known === undefined && gateways.size >= MOST_GATEWAYS) return null
    const gateway = known ?? { load: null, report: null, reportedMs: 0, open: [], heardMs: 0 }
    gateway.heardMs = nowMs()
    gateways.set(id, gateway)
    return gateway
  }

  function forget() {
    const now = nowMs()
    for (const [id, { heardMs }] of gateways) if (now - heardMs > FORGET_MS) gateways.delete(id)
    for (const [id, { touchedMs }] of refusals) if (now - touchedMs > TENANT_IDLE_MS) refusals.delete(id)
  }

  function addTenants(before: KeptReport | null, { tenants }: KeptReport) {
    const known = new Map(before?.tenants.map((tenant) => [toTenantId(tenant), tenant.refused]))
    for (const tenant of tenants) {
      const id = toTenantId(tenant)
      const grown = growth(known.get(id), tenant.refused)
      if (grown === 0) continue
      const refusal = refusals.get(id) ?? { rate: createRate(nowMs), touchedMs: 0 }
      refusal.rate.add(grown)
      refusal.touchedMs = nowMs()
      refusals.set(id, refusal)
    }
  }

  function addEnded(reported: readonly EndedReport[]) {
    if (reported.length === 0) return
    const ids = new Set(reported.map(({ id }) => id))
    const rows = reported.map((end) => toEnded(end, unixMs()))
    ended = [...rows, ...ended.filter(({ id }) => !ids.has(id))]
      .toSorted((a, b) => (a.endedAt < b.endedAt ? 1 : -1))
      .slice(0, MOST_ENDED)
  }

  return {
    receive(load) {
      const gateway = gatewayOf(load.id)
      if (gateway !== null) gateway.load = load
    },
    receiveReport(report) {
      const gateway = gatewayOf(report.id)
      if (gateway === null) return
      const before = gateway.report
      for (const [model, counts] of Object.entries(report.models)) {
        addGrowth(loadOf(model), before?.models[model], counts)
      }
      addTenants(before, report)
      addEnded(report.ended)
      gateway.report = { models: report.models, tenants: report.tenants }
      gateway.reportedMs = nowMs()
      gateway.open = report.open.map((request) => toOpen(request, unixMs()))
    },
    gateways(silentMs) {
      forget()
      const now = nowMs()
      return Array.from(gateways, ([id, gateway]) => ({ id, ...gateway })).filter(
        ({ heardMs }) => now - heardMs <= silentMs,
      )
    },
    models() {
      const models = new Map<string, { catalog: ModelReport['catalog']; oldestWaitMs: number | null }>()
      for (const { report, reportedMs } of gateways.values()) {
        for (const [id, { catalog, oldestWaitMs }] of Object.entries(report?.models ?? {})) {
          const agedMs = oldestWaitMs === null ? null : oldestWaitMs + nowMs() - reportedMs
          const other = models.get(id)?.oldestWaitMs ?? null
          models.set(id, { catalog, oldestWaitMs: longer(agedMs, other) })
        }
      }
      return models
    },
    tenants(windowMs) {
      const now = nowMs()
      const rows = new Map<string, TenantNow>()
      for (const { report } of gateways.values()) {
        for (const tenant of report?.tenants ?? []) {
          const id = toTenantId(tenant)
          const { waiting, running } = rows.get(id) ?? { waiting: 0, running: 0 }
          rows.set(id, {
            id,
            accountId: tenant.accountId,
            model: tenant.model,
            waiting: waiting + tenant.waiting,
            running: running + tenant.running,
            refusedPerS: refusals.get(id)?.rate.perS(now, windowMs) ?? 0,
          })
        }
      }
      return [...rows.values()]
        .toSorted((a, b) => b.waiting + b.running - (a.waiting + a.running) || b.refusedPerS - a.refusedPerS)
        .slice(0, MOST_TENANTS)
    },
    open(model) {
      return Array.from(gateways.values(), ({ open }) => open)
        .flat()
        .filter((request) => model === null || request.model === model)
        .toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : 0))
        .slice(0, MOST_OPEN)
    },
    ended: () => ended,
  }
}

/**
 * Adds to `load` how much a model's counters have grown between two successive reports of one gateway. This function
 * runs for every model of every report, so it creates no object for the many models without new requests.
 */
function addGrowth(load: ModelLoad, before: ModelReport | undefined, now: ModelReport): void {
  if (before === undefined) return
  load.add('asked', growth(before.asked, now.asked))
  load.add('failed', growth(sumOf(before.failed), sumOf(now.failed)))
  for (const code of Object.keys(now.refused)) {
    load.refuse(code, growth(before.refused[code] ?? 0, now.refused[code] ?? 0))
  }
  addTimes(load, 'queue', [before.queueMs, now.queueMs])
  addTimes(load, 'firstToken', [before.firstTokenMs, now.firstTokenMs])
}

function addTimes(
  load: ModelLoad,
  name: 'queue' | 'firstToken',
  [before, now]: readonly [packedBefore: readonly number[], packedNow: readonly number[]],
): void {
  if (isSame(before, now)) return
  const [old, present] = [unpackBuckets(before), unpackBuckets(now)]
  load.addTimes(
    name,
    present.map((count, index) => growth(old[index], count)),
  )
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  let sum = 0
  for (const code of Object.keys(counts)) sum += counts[code] ?? 0
  return sum
}

const isSame = (a: readonly number[], b: readonly number[]) =>
  a.length === b.length && a.every((value, index) => value === b[index])

const toTenantId = (tenant: { accountId: string; model: string }) => `${tenant.accountId} ${tenant.model}`

const longer = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b))

/** Rounds the start to whole seconds, so that a request has the same start in each report. */
function toOpen({ ageMs, ...request }: OpenReport, reportedMs: number): OpenRequest {
  return { ...request, startedAt: toUtc(Math.round((reportedMs - ageMs) / 1_000) * 1_000) }
}

function toEnded({ endedAgoMs, ...end }: EndedReport, unixMs: number): EndedRequest {
  return { ...end, endedAt: toUtc(unixMs - endedAgoMs) }
}

const toUtc = (unixMs: number) => new Date(unixMs).toISOString()
