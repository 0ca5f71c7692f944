import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { GenerationRecord, Opening } from '#libs/generation-record/generation-record.ts'
import { REQUEUE_PRIORITY } from '#libs/generation-record/priorities.ts'
import type { TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import { NO_NEW_WORK, orUnavailable } from './or-unavailable.ts'

/**
 * Opens a generation's record, then adds the ticket of its epoch: the first epoch's under the fair tag, a later
 * one's before every fair tag. May be repeated: a record that is claimed or settled gets no further ticket, and its
 * state is returned.
 *
 * Throws `model_unavailable` when the queue does not answer in time. Record and ticket may exist nevertheless, so
 * the caller must abandon the generation.
 */
export type Enqueue = (job: GenerationJob, place: { tag: number; epoch: number }) => Promise<Opening>

export function createEnqueue(deps: {
  record: Pick<GenerationRecord, 'open'>
  tickets: Pick<TicketQueue, 'add'>
}): Enqueue {
  const { record, tickets } = deps

  return async (job, place) => await orUnavailable(open(job, place), NO_NEW_WORK)

  async function open(job: GenerationJob, { tag, epoch }: { tag: number; epoch: number }): Promise<Opening> {
    const opening = await record.open(job, tag)
    if (opening.status === 'opened' || opening.status === 'waiting') {
      await tickets.add(job.model, { id: job.id, epoch }, epoch === 1 ? tag : REQUEUE_PRIORITY)
    }
    return opening
  }
}
