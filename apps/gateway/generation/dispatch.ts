import { ApiError } from '#libs/contracts/api-error.ts'
import type { GenerationDeclined } from '#libs/contracts/generation-event.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { GenerationRecord, Opening } from '#libs/generation-record/generation-record.ts'
import { REQUEUE_PRIORITY } from '#libs/generation-record/priorities.ts'
import type { TicketQueue } from '#libs/ticket-queue/ticket-queue.ts'
import type { Reserve } from './reserve.ts'

export type Dispatch = {
  /**
   * Opens the record, then adds the ticket of its epoch; the first one under its fair tag. May be repeated:
   * then it tells what the record says, and adds no ticket to one that is claimed or settled.
   */
  enqueue(job: GenerationJob, place: { tag: number; epoch: number }): Promise<Opening>
  /**
   * Queues a declined generation again, in its next epoch and before every fair tag; where the hold was too
   * small, with an exact one. Returns the job as it now stands.
   */
  requeue(job: GenerationJob, declined: GenerationDeclined, inbox: StreamInbox): Promise<GenerationJob>
}

/** Declines end: each further one after this many is answered with an error. */
const MAX_EPOCHS = 8

/**
 * Both throw `model_unavailable` when the queue gives no answer in time. Then record and ticket may exist all
 * the same: whoever calls must cancel.
 */
export function createDispatch(deps: {
  record: Pick<GenerationRecord, 'open' | 'raise'>
  tickets: TicketQueue
  reserve: Reserve
}): Dispatch {
  const { record, tickets, reserve } = deps

  async function raise(job: GenerationJob, declined: GenerationDeclined, inbox: StreamInbox) {
    const epoch = inbox.epoch()
    if (epoch >= MAX_EPOCHS) throw new ApiError('upstream_error', 'No worker could take this request.')
    // Expect the new epoch before anybody can run it.
    inbox.expectEpoch(epoch + 1)
    const keepJob = declined.reason !== 'hold-too-small'
    const raised = await record.raise(job, { epoch, keepJob })
    if (raised.status !== 'raised')
      throw new Error(`a declined generation could not be raised: ${raised.status}`)
    await tickets.add(job.model, { id: job.id, epoch: raised.epoch }, REQUEUE_PRIORITY)
  }

  return {
    async enqueue(job, { tag, epoch }) {
      return await orUnavailable(async () => {
        const opening = await record.open(job, tag)
        if (opening.status === 'opened' || opening.status === 'waiting') {
          await tickets.add(job.model, { id: job.id, epoch }, epoch === 1 ? tag : REQUEUE_PRIORITY)
        }
        return opening
      })
    },
    async requeue(job, declined, inbox) {
      const next =
        declined.reason === 'hold-too-small'
          ? { ...job, hold: await reserve.exact(job, declined.promptTokens) }
          : job
      await orUnavailable(async () => await raise(next, declined, inbox))
      return next
    },
  }
}

async function orUnavailable<Result>(enqueueing: () => Promise<Result>): Promise<Result> {
  try {
    return await enqueueing()
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw new ApiError('model_unavailable', 'The service cannot take new work right now.', {
      retryAfterS: 2,
      cause,
    })
  }
}
