import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { GenerationRecord } from '#libs/generation-record/generation-record.ts'
import { REQUEUE_PRIORITY } from '#libs/generation-record/priorities.ts'
import type { TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import { NO_NEW_WORK, orUnavailable } from './or-unavailable.ts'

/**
 * Queues a declined generation again: in its next epoch, before every fair tag. `holdReplaced` says that the
 * recorded job has the old hold and must be replaced.
 *
 * Throws `upstream_error` after too many epochs, `model_unavailable` when the queue does not answer in time or the
 * generation was settled meanwhile; the record may be in either epoch then.
 */
export type Requeue = (
  job: GenerationJob,
  declined: { inbox: StreamInbox; holdReplaced: boolean },
) => Promise<void>

/** Bounds how often one generation may be declined. */
const MAX_EPOCHS = 8

export function createRequeue(deps: {
  record: Pick<GenerationRecord, 'raise'>
  tickets: Pick<TicketQueue, 'add'>
}): Requeue {
  const { record, tickets } = deps
  return async (job, { inbox, holdReplaced }) => {
    const epoch = inbox.epoch()
    if (epoch >= MAX_EPOCHS) throw new ApiError('upstream_error', 'No worker could take this request.')
    // Before the ticket is added: from then on a worker may send events of the new epoch.
    inbox.expectEpoch(epoch + 1)
    await orUnavailable(raise(job, { epoch, keepJob: !holdReplaced }), NO_NEW_WORK)
  }

  async function raise(job: GenerationJob, from: { epoch: number; keepJob: boolean }): Promise<void> {
    const raised = await record.raise(job, from)
    if (raised.status !== 'raised') {
      throw new Error(`a declined generation could not be raised: ${raised.status}`)
    }
    await tickets.add(job.model, { id: job.id, epoch: raised.epoch }, REQUEUE_PRIORITY)
  }
}
