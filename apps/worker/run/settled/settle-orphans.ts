import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { untilAnswered } from '#libs/lifecycle/until-answered.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { Orphan } from '../running-generations.ts'

export type OrphanSettlements = {
  /** Settles a generation whose gateway is dead; returns at once and repeats until the queue Redis has answered. */
  add(orphan: Orphan): void
  /** Resolves when every settlement has been answered. */
  drain(): Promise<void>
  pending(): number
}

const PAUSES = { firstPauseMs: 20, lastPauseMs: 1_000 }
const UNUSED = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }

/**
 * A gateway settles its own generations. If a gateway is dead, each of its generations is settled by the worker that
 * ran the generation, with the outcome `fault` and free of charge, because no client received the answer. The record
 * refuses the settlement if another worker has the generation.
 */
export function createOrphanSettlements(deps: {
  record: Pick<GenerationRecord, 'settle'>
  worker: string
  log: Logger
}): OrphanSettlements {
  const { record, worker, log } = deps
  const pending = new Set<Promise<void>>()

  async function settle({ model, id, epoch, timing }: Orphan) {
    const settlement = { id, epoch, outcome: 'fault', ...UNUSED, ...(timing && { timing }) } as const
    const { status } = await untilAnswered(
      async () => await record.settle(model, settlement, { role: 'worker', worker }),
      PAUSES,
    )
    log.info({ requestId: id, epoch, status }, 'settled for a dead gateway')
  }

  return {
    add(orphan) {
      const answered = settle(orphan)
      pending.add(answered)
      void answered.finally(() => pending.delete(answered))
    },
    async drain() {
      await Promise.all(pending)
    },
    pending: () => pending.size,
  }
}
