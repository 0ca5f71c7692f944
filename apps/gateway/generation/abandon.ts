import { setTimeout as sleep } from 'node:timers/promises'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { StreamEpoch } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { ReleaseHold } from './reserve.ts'

/**
 * - `caller-left`: if no worker has claimed the generation, it is settled at 0 and never runs. Otherwise its worker
 *   is asked to stop, and settles what it generated.
 * - `refused`: the caller got an error, but the generation may be in the queue. It is settled at 0, also where a
 *   worker has claimed it in the meantime.
 * - `lost`: a failure of the service. It is settled at 0, and its worker is asked to stop.
 */
export type AbandonReason = 'caller-left' | 'refused' | 'lost'

/**
 * Ends a generation that no worker has settled. Returns at once; the work is repeated until Redis answers, because
 * only an answered cancel makes sure that a generation that may be enqueued is settled.
 */
export type Abandon = (
  generation: Pick<GenerationJob, 'id' | 'model' | 'stream'>,
  end: {
    readonly epoch: number
    /** Boot id of the worker that is known to run it; null: none is. */
    readonly worker: string | null
    readonly reason: AbandonReason
  },
) => void

const RETRY = { firstPauseMs: 50, lastPauseMs: 2_000 }

/** A worker that was asked to stop settles within a second. */
const CONFIRM_PAUSE_MS = 1_000
const CONFIRM_ATTEMPTS = 3

export function createAbandon(deps: {
  record: Pick<GenerationRecord, 'cancel' | 'settle'>
  billing: Pick<BillingClient, 'release'>
  stopWorker: (worker: string, stream: StreamEpoch) => Promise<void>
  /** After this long the hold has expired by itself. */
  giveUpAfterMs: number
  nowMs: () => number
  log: Logger
}): {
  abandon: Abandon
  /** Releases a hold that billing may have granted without an answer. Like `abandon`, it returns at once. */
  releaseHold: ReleaseHold
  /** Resolves when everything that was begun has been answered. */
  drain(): Promise<void>
} {
  const { record, billing, stopWorker, giveUpAfterMs, nowMs, log } = deps
  const running = new Set<Promise<void>>()

  function begin(id: string, step: () => Promise<void>) {
    const giveUpAtMs = nowMs() + giveUpAfterMs
    const giveUp = () => nowMs() >= giveUpAtMs
    const work = untilAnswered(step, { ...RETRY, giveUp }).catch((error: unknown) => {
      log.error({ err: error, generationId: id }, 'generation abandoned without an answer')
    })
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  async function settleAtZero(model: string, id: string, epoch: number) {
    const fault = { id, outcome: 'fault', promptTokens: 0, cachedTokens: 0, completionTokens: 0 } as const
    let result = await record.settle(model, { ...fault, epoch })
    // A requeueing that failed half-way may have left the record in the previous epoch.
    if (result === 'stale') result = await record.settle(model, { ...fault, epoch: epoch - 1 })
    if (result === 'settled') log.info({ generationId: id }, 'generation had been settled by its worker')
  }

  /** Polls for 3 s. False: the generation is still claimed, so its worker has died or declined it. */
  async function isSettledByWorker(model: string, id: string): Promise<boolean> {
    for (let attempt = 0; attempt < CONFIRM_ATTEMPTS; attempt += 1) {
      await sleep(CONFIRM_PAUSE_MS)
      const { status } = await record.cancel(model, id)
      if (status !== 'claimed') return true
    }
    return false
  }

  return {
    abandon({ id, model, stream }, { epoch, worker, reason }) {
      begin(id, async () => {
        if (reason === 'lost') {
          await settleAtZero(model, id, epoch)
          if (worker !== null) await stopWorker(worker, { stream, epoch })
          return
        }
        const cancelled = await record.cancel(model, id)
        if (cancelled.status !== 'claimed') return
        if (reason === 'refused') {
          await settleAtZero(model, id, epoch)
          await stopWorker(cancelled.worker, { stream, epoch })
          return
        }
        await stopWorker(cancelled.worker, { stream, epoch })
        if (!(await isSettledByWorker(model, id))) await settleAtZero(model, id, epoch)
      })
    },
    releaseHold(id) {
      begin(id, async () => {
        await billing.release(id)
      })
    },
    async drain() {
      await Promise.all(running)
    },
  }
}
