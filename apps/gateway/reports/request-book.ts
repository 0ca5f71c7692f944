import { countTime, emptyBuckets, type TimeBuckets } from '#libs/event-bus/time-buckets.ts'
import { ShortLivedSet } from '#libs/short-lived/short-lived-set.ts'

/** Notes the steps of one request as they happen. Each step costs a few additions; nothing is done per token. */
export type BookedRequest = {
  /** The moments that are noted so far. */
  readonly entry: Readonly<RequestEntry>
  /** The request is queued. */
  admitted(queued: Queued): void
  /** Only the first call counts. */
  claimed(claim: { readonly waitedMs?: number | undefined }): void
  /** Only the first call counts. */
  output(): void
  /**
   * The request has ended. Called once. `code` is a code of `API_ERRORS` if the request was refused or failed, else
   * null.
   */
  ended(end: { code: string | null; usage: TokenUsage | null }): void
}

export type Queued = {
  /** How many generations waited before it; null if the number is unknown. */
  readonly ahead: number | null
  /** Returns the number of tokens received so far; reports call it until the end. */
  readonly tokens: () => number
}

type TokenUsage = { readonly promptTokens: number; readonly completionTokens: number }

export type RequestStage = 'admitting' | 'waiting' | 'running'

/**
 * An open or ended request. Times are of this process's monotonic clock; null for a step that the request did not
 * reach.
 */
export type RequestEntry = {
  readonly id: string
  readonly accountId: string
  readonly model: string
  readonly receivedMs: number
  stage: RequestStage
  admittedMs: number | null
  ahead: number | null
  claimedMs: number | null
  /** The wait until the first claim, as the queue Redis measured it; null before the claim. */
  waitedMs: number | null
  outputMs: number | null
  tokens: () => number
  endedMs: number | null
  /** Null unless the request was refused or failed. */
  code: string | null
  /** The usage of a complete output, else null. */
  usage: TokenUsage | null
}

/** The counts of one model since the start. */
export type ModelCounts = {
  asked: number
  readonly refused: Map<string, number>
  readonly failed: Map<string, number>
  readonly queueMs: TimeBuckets
  readonly firstTokenMs: TimeBuckets
}

/** One account's requests for one model. */
export type TenantCounts = {
  readonly accountId: string
  readonly model: string
  waiting: number
  running: number
  refused: number
  /** When a request of this account last began or ended. */
  touchedMs: number
}

/** The requests of this gateway: counts, the open requests, and the last requests that ended. */
export type RequestBook = {
  open(request: Pick<RequestEntry, 'id' | 'accountId' | 'model' | 'receivedMs'>): BookedRequest
  counts(model: string): ModelCounts
  /** Returns the open requests in the order of their arrival. */
  openRequests(): Iterable<RequestEntry>
  tenants(): readonly TenantCounts[]
  /**
   * Returns the requests that ended since the previous call: `count` is their number, and `kept` lists the requests
   * among them that the book still keeps, the oldest first. The book keeps the last 2,000 requests that ended.
   */
  takeEnded(): { readonly count: number; readonly kept: readonly RequestEntry[] }
  /** Returns the last 2,000 requests that ended, also the requests that `takeEnded` has returned. */
  lastEnded(): readonly RequestEntry[]
}

const KEPT_ENDED = 2_000
/** A tenant without an open request is forgotten after this time. */
const TENANT_IDLE_MS = 60_000
const NO_TOKENS = () => 0

export function createRequestBook(deps: { nowMs: () => number }): RequestBook {
  const { nowMs } = deps
  const byModel = new Map<string, ModelCounts>()
  const byTenant = new Map<string, TenantCounts>()
  const opened = new ShortLivedSet<RequestEntry>()
  /** A ring. `endedCount` modulo its size is the next place. */
  const ring: RequestEntry[] = []
  let endedCount = 0
  let takenCount = 0

  function countsOf(model: string): ModelCounts {
    const known = byModel.get(model)
    if (known !== undefined) return known
    const counts: ModelCounts = {
      asked: 0,
      refused: new Map(),
      failed: new Map(),
      queueMs: emptyBuckets(),
      firstTokenMs: emptyBuckets(),
    }
    byModel.set(model, counts)
    return counts
  }

  function tenantOf({ accountId, model }: RequestEntry): TenantCounts {
    const key = `${accountId} ${model}`
    const tenant = byTenant.get(key) ?? { accountId, model, waiting: 0, running: 0, refused: 0, touchedMs: 0 }
    byTenant.set(key, tenant)
    tenant.touchedMs = nowMs()
    return tenant
  }

  function keepEnded(entry: RequestEntry) {
    ring[endedCount % KEPT_ENDED] = entry
    endedCount += 1
  }

  const shared: Shared = { nowMs, tenantOf, opened, keepEnded }

  function lastEnded(count: number): RequestEntry[] {
    const from = endedCount - Math.min(count, ring.length)
    return Array.from({ length: endedCount - from }, (_, index) => ring[(from + index) % KEPT_ENDED]).filter(
      (entry) => entry !== undefined,
    )
  }

  return {
    open(request) {
      const entry: RequestEntry = {
        ...request,
        stage: 'admitting',
        admittedMs: null,
        ahead: null,
        claimedMs: null,
        waitedMs: null,
        outputMs: null,
        tokens: NO_TOKENS,
        endedMs: null,
        code: null,
        usage: null,
      }
      const counts = countsOf(entry.model)
      counts.asked += 1
      return new OpenRequest(entry, counts, shared)
    },
    counts: countsOf,
    openRequests: () => opened,
    tenants() {
      for (const [key, { waiting, running, touchedMs }] of byTenant) {
        if (waiting + running === 0 && nowMs() - touchedMs > TENANT_IDLE_MS) byTenant.delete(key)
      }
      return [...byTenant.values()]
    },
    takeEnded() {
      const count = endedCount - takenCount
      takenCount = endedCount
      return { count, kept: lastEnded(count) }
    },
    lastEnded: () => lastEnded(KEPT_ENDED),
  }
}

/** Shared by all open requests of a book. */
type Shared = {
  readonly nowMs: () => number
  readonly tenantOf: (entry: RequestEntry) => TenantCounts
  readonly opened: ShortLivedSet<RequestEntry>
  readonly keepEnded: (entry: RequestEntry) => void
}

/**
 * A gateway has one object of this class for each open stream. Methods of a class are shared; closures would be made
 * for each object.
 */
class OpenRequest implements BookedRequest {
  readonly entry: RequestEntry
  readonly #counts: ModelCounts
  /** The request's number in `opened`. */
  readonly #number: number
  readonly #shared: Shared

  constructor(entry: RequestEntry, counts: ModelCounts, shared: Shared) {
    this.entry = entry
    this.#counts = counts
    this.#number = shared.opened.add(entry)
    this.#shared = shared
  }

  admitted({ ahead, tokens }: Queued) {
    const { entry } = this
    // A client may have left already.
    if (entry.stage !== 'admitting' || entry.endedMs !== null) return
    entry.stage = 'waiting'
    entry.admittedMs = this.#shared.nowMs()
    entry.ahead = ahead
    entry.tokens = tokens
    this.#shared.tenantOf(entry).waiting += 1
  }

  claimed({ waitedMs }: { readonly waitedMs?: number | undefined }) {
    const { entry } = this
    if (entry.stage !== 'waiting') return
    entry.stage = 'running'
    entry.claimedMs = this.#shared.nowMs()
    entry.waitedMs = waitedMs ?? null
    countTime(this.#counts.queueMs, entry.claimedMs - (entry.admittedMs ?? entry.claimedMs))
    const tenant = this.#shared.tenantOf(entry)
    tenant.waiting -= 1
    tenant.running += 1
  }

  output() {
    const { entry } = this
    if (entry.outputMs !== null) return
    this.claimed({})
    entry.outputMs = this.#shared.nowMs()
    countTime(this.#counts.firstTokenMs, entry.outputMs - entry.receivedMs)
  }

  ended({ code, usage }: { code: string | null; usage: TokenUsage | null }) {
    const { entry } = this
    const counts = this.#counts
    const { nowMs, tenantOf, opened, keepEnded } = this.#shared
    entry.endedMs = nowMs()
    entry.code = code
    entry.usage = usage
    // The function is dropped, because the ring would otherwise keep the generation alive.
    entry.tokens = NO_TOKENS
    opened.delete(this.#number)
    const tenant = tenantOf(entry)
    if (entry.stage === 'waiting') tenant.waiting -= 1
    else if (entry.stage === 'running') tenant.running -= 1
    if (code !== null && entry.stage === 'admitting') {
      increment(counts.refused, code)
      tenant.refused += 1
    } else if (code !== null) increment(counts.failed, code)
    keepEnded(entry)
  }
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
