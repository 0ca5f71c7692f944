import { setTimeout as sleep } from 'node:timers/promises'
import type { BillingClient } from '#libs/billing-client/billing-client.ts'
import type { StreamEpoch } from '#libs/event-bus/worker-control.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/** What is needed to end a generation from the gateway's side. */
export type AbandonedGeneration = {
  readonly id: string
  readonly model: string
  readonly stream: number
  readonly epoch: number
  /** Whom to tell, when known. */
  readonly worker: string | null
}

export type Abandon = {
  /**
   * Nobody waits for it any more. Not yet claimed: it is settled at 0 and never runs. Claimed: its worker is
   * told, and settles what it generated.
   */
  cancel(generation: AbandonedGeneration): void
  /** We could not serve it, though it may have been enqueued: the same, but free if somebody claimed it. */
  withdraw(generation: AbandonedGeneration): void
  /** It was lost by our fault: it is settled at 0, and its worker, if it lives, is told to stop. */
  writeOff(generation: AbandonedGeneration): void
  /** Billing did not answer a reservation, which may have been made all the same: it is given back. */
  release(id: string): void
  /** Resolves when everything begun has been answered. */
  drain(): Promise<void>
}

const CONFIRM_PAUSE_MS = 1_000
const CONFIRM_LOOKS = 3
const PAUSES = { firstPauseMs: 50, lastPauseMs: 2_000 }

/**
 * All return at once and are repeated until they are answered: an enqueueing of unknown outcome is only
 * settled by an answered cancel, a reservation of unknown outcome by an answered release.
 */
export function createAbandon(deps: {
  record: Pick<GenerationRecord, 'cancel' | 'settle'>
  billing: Pick<BillingClient, 'release'>
  tellWorker: (worker: string, cancelled: StreamEpoch) => Promise<void>
  /** Afterwards the hold has expired by itself, behind the settlement stream's watermark. */
  giveUpAfterMs: number
  nowMs: () => number
  log: Logger
}): Abandon {
  const { record, billing, tellWorker, giveUpAfterMs, nowMs, log } = deps
  const running = new Set<Promise<void>>()

  function begin(id: string, step: () => Promise<void>) {
    const giveUpAtMs = nowMs() + giveUpAfterMs
    const giveUp = () => nowMs() >= giveUpAtMs
    const work = untilAnswered(step, { ...PAUSES, giveUp }).catch((error: unknown) => {
      log.error({ err: error, generationId: id }, 'generation abandoned without an answer')
    })
    running.add(work)
    void work.finally(() => running.delete(work))
  }

  async function settleAsFault({ id, model, epoch }: AbandonedGeneration) {
    const fault = { id, outcome: 'fault', promptTokens: 0, cachedTokens: 0, completionTokens: 0 } as const
    let result = await record.settle(model, { ...fault, epoch })
    // A re-dispatch that failed half-way may have left the record in the epoch before.
    if (result === 'stale') result = await record.settle(model, { ...fault, epoch: epoch - 1 })
    if (result === 'settled') log.info({ generationId: id }, 'its worker had settled it before')
  }

  /**
   * A worker settles what it was told to stop within the second. One that does not has lost it (it declined
   * or died at that moment): then it costs nothing.
   */
  async function confirmSettled(generation: AbandonedGeneration) {
    for (let look = 0; look < CONFIRM_LOOKS; look += 1) {
      await sleep(CONFIRM_PAUSE_MS)
      const { status } = await record.cancel(generation.model, generation.id)
      if (status !== 'claimed') return
    }
    await settleAsFault(generation)
  }

  return {
    cancel(generation) {
      const { id, model } = generation
      begin(id, async () => {
        const cancelled = await record.cancel(model, id)
        if (cancelled.status !== 'claimed') return
        await tellWorker(cancelled.worker, generation)
        await confirmSettled(generation)
      })
    },
    withdraw(generation) {
      const { id, model } = generation
      begin(id, async () => {
        const cancelled = await record.cancel(model, id)
        if (cancelled.status !== 'claimed') return
        await settleAsFault(generation)
        await tellWorker(cancelled.worker, generation)
      })
    },
    writeOff(generation) {
      const { id, worker } = generation
      begin(id, async () => {
        await settleAsFault(generation)
        if (worker !== null) await tellWorker(worker, generation)
      })
    },
    release(id) {
      begin(id, async () => {
        await billing.release(id)
      })
    },
    async drain() {
      await Promise.all(running)
    },
  }
}
