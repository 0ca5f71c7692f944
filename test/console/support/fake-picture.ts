import type {
  ClusterNow,
  EndedRequest,
  ModelNow,
  OpenRequest,
  Problem,
  ProcessNow,
  Series,
  TenantNow,
  WorkerNow,
} from '#libs/live-view/rows.ts'
import type { ModelView, NowView, RequestsView, WorkersView } from '#libs/live-view/views.ts'

type Size = {
  models: readonly string[]
  workersPerModel: number
  accounts: readonly string[]
  /** The values of each long history, one per 10 s. By default six hours, as many as a console keeps. */
  longHistoryValues?: number
}

/** A name that would run as a script if the page inserted it as HTML. */
const HOSTILE = '<img src=x onerror=alert(1)>'

const SOURCES = { busAwayMs: 0, queueAwayMs: 0 }

/** Creates the picture of a made-up cluster. Its values depend only on the number of ticks. */
export function createFakePicture({ models, workersPerModel, accounts, longHistoryValues = 2_160 }: Size) {
  const account = (index: number) =>
    accounts[index % accounts.length] ?? '00000000-0000-4000-8000-000000000000'
  const wave = (seed: number, tick: number) => (Math.sin(seed * 1.7 + tick / 9) + 1) / 2
  const iso = (agoMs: number) => new Date(Date.now() - agoMs).toISOString()
  const idOf = (index: number) => `01a1ff19-4bd8-7abc-8def-${String(index).padStart(12, '0')}`

  function model(id: string, index: number, tick: number): ModelNow {
    const isShort = index === 0
    const isUnserved = index === models.length - 1 && models.length > 2
    const slots = isUnserved ? 0 : workersPerModel * 8
    const running = isShort ? slots : Math.round(slots * 0.6 * wave(index, tick))
    return {
      id,
      state: isShort ? 'short' : isUnserved ? 'unserved' : 'serving',
      waiting: isShort ? 250 + (tick % 20) : 0,
      oldestWaitMs: isShort ? 14_200 : null,
      running,
      slots,
      workers: { ready: isUnserved ? 0 : workersPerModel, all: workersPerModel },
      askedPerS: isUnserved ? 0.2 : Math.round(120 * wave(index, tick)) / 10,
      endsPerS: Math.round(100 * wave(index, tick)) / 10,
      failedPerS: 0,
      meanGenerationMs: 7_350,
      expectedWaitMs: isUnserved ? null : isShort ? 30_000 : 0,
      shortSlots: isShort ? 87 : 0,
      tokensPerS: { prompt: 4_000, cached: 1_500, completion: Math.round(3_180 * wave(index, tick)) },
      queueMs: { p50: isShort ? 14_000 : 2, p95: isShort ? 30_000 : 9 },
      firstTokenMs: { p50: 240, p95: isShort ? 31_000 : 410 },
      refusedPerS: isShort ? { model_busy: 3.1 } : isUnserved ? { model_unavailable: 0.2 } : {},
    }
  }

  function workers(tick: number): WorkerNow[] {
    return models.flatMap((id, place) =>
      Array.from({ length: workersPerModel }, (_, index): WorkerNow => {
        const state = index === 1 ? 'loading' : index === 2 && place === 0 ? 'silent' : 'ready'
        const name = place === 1 && index === 0 ? HOSTILE : `w-${place}-${index}`
        const running = state === 'ready' ? Math.round(8 * wave(place + index, tick)) : 0
        return {
          id: `${place}-${index} ${id}`,
          worker: idOf(place * 1_000 + index),
          name,
          model: id,
          state,
          since: iso(3_600_000),
          running,
          slots: 8,
          kvUse: state === 'ready' ? running / 9 : null,
          cacheHits: state === 'ready' ? 0.41 : null,
          outputPerS: running * 49,
          meanGenerationMs: 7_350,
          loadingMs: state === 'loading' ? 120_000 : null,
          seenMs: state === 'silent' ? 42_000 : 0,
          node: null,
          pool: null,
          host: `gpu-${String(index).padStart(2, '0')}`,
          version: '0.1.0',
          engineWaiting: 0,
          engineVersion: index === 3 ? '0.26.0' : '0.32.0',
          address: null,
          contextWindow: 32_768,
          problem: null,
          refuses: place === 0 ? ['tools', 'several system messages'] : [],
          pendingSettlements: 0,
        }
      }),
    )
  }

  const problem: Problem = {
    id: `ModelShort ${models[0]}`,
    name: 'ModelShort',
    severity: 'page',
    text: `${models[0]} is short of 87 slots: 261 wait, expected 30 s, 3.1 refused/s`,
    since: iso(300_000),
    model: models[0] ?? null,
    worker: null,
    runbook: 'docs/runbooks/queue-old.md',
  }

  function series(seed: number, length: number, stepMs: number): Series {
    const values = Array.from({ length }, (_, index) => Math.round(100 * wave(seed, index / 3)))
    return { stepMs, until: iso(0), values }
  }

  const histories = {
    waiting: series(1, 600, 1_000),
    running: series(2, 600, 1_000),
    asked: series(3, 600, 1_000),
    output: series(4, 600, 1_000),
    refused: series(5, 600, 1_000),
    firstToken: series(6, 600, 1_000),
  }
  const longHistories = {
    waiting: series(1, longHistoryValues, 10_000),
    running: series(2, longHistoryValues, 10_000),
  }
  const sparklines = Object.fromEntries(models.map((id, index) => [id, series(index, 60, 10_000)]))

  function open(model: string | undefined): OpenRequest[] {
    return Array.from({ length: 6 }, (_, index): OpenRequest => ({
      id: idOf(index),
      accountId: account(index),
      model: model ?? models[index % models.length] ?? '',
      stage: index < 3 ? 'running' : 'waiting',
      startedAt: iso(60_000 - index * 4_000),
      tokens: index < 3 ? 1_204 - index * 300 : 0,
    }))
  }

  return {
    now(tick: number): NowView {
      const rows = models.map((id, index) => model(id, index, tick))
      const sum = (of: (row: ModelNow) => number) => rows.reduce((total, row) => total + of(row), 0)
      const cluster: ClusterNow = {
        askedPerS: sum((row) => row.askedPerS),
        waiting: sum((row) => row.waiting ?? 0),
        running: sum((row) => row.running),
        slots: sum((row) => row.slots),
        workers: { ready: sum((row) => row.workers.ready), all: sum((row) => row.workers.all) },
        gateways: 2,
        tokensPerS: { prompt: 40_000, cached: 12_000, completion: sum((row) => row.tokensPerS.completion) },
        queueMs: { p50: 20, p95: 14_000 },
        firstTokenMs: { p50: 240, p95: 840 },
        refusedPerS: { model_busy: 3.1, model_unavailable: 0.2 },
        endsPerS: 212,
        failedPerS: 0.04,
        failedShare: 0.0002,
        redisMemory: 0.31,
        versions: { '0.1.0': 12 },
      }
      return { sources: SOURCES, cluster, problems: [problem], models: rows, histories, sparklines }
    },
    workers(tick: number): WorkersView {
      const process: ProcessNow = {
        id: idOf(7),
        kind: 'gateway',
        name: 'gateway-1',
        host: 'edge-01',
        pid: 4_242,
        version: '0.1.0',
        startedAt: iso(86_400_000),
        seenMs: 0,
        openStreams: 181,
        loopDelayMs: 3,
        pendingSettlements: 0,
      }
      return { sources: SOURCES, workers: workers(tick), processes: [process] }
    },
    requests(): RequestsView {
      const ended = Array.from({ length: 12 }, (_, index): EndedRequest => {
        const isFailed = index % 4 === 0
        return {
          id: idOf(100 + index),
          accountId: account(index),
          model: models[index % models.length] ?? '',
          kind: isFailed ? 'failed' : index % 3 === 0 ? 'slow' : 'sample',
          outcome: isFailed ? 'failed' : 'completed',
          code: isFailed ? 'model_busy' : null,
          weight: isFailed ? 412 : 7,
          endedAt: iso(index * 1_000),
          totalMs: isFailed ? 4 : 21_000,
          waitedMs: isFailed ? null : 14_200,
          firstTokenMs: isFailed ? null : 410,
          promptTokens: isFailed ? null : 259,
          completionTokens: isFailed ? null : 301,
        }
      })
      return { sources: SOURCES, open: open(undefined), ended }
    },
    model(id: string, tick: number): ModelView {
      const index = models.indexOf(id)
      const tenants = accounts.map((accountId, place): TenantNow => ({
        id: `${accountId} ${id}`,
        accountId,
        model: id,
        waiting: place === 0 ? 240 : 5,
        running: 52 - place * 12,
        refusedPerS: place === 0 ? 3.1 : 0,
      }))
      return {
        sources: SOURCES,
        model: index === -1 ? null : model(id, index, tick),
        problems: index === 0 ? [problem] : [],
        tenants,
        workers: workers(tick).filter((worker) => worker.model === id),
        open: open(id),
        histories,
        longHistories,
      }
    },
  }
}

export type FakePicture = ReturnType<typeof createFakePicture>
