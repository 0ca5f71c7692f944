import type { GenerationJob, GenerationTicket } from '#libs/contracts/generation-job.ts'
import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { EndRun, RunEnding } from './end-run.ts'
import type { RunChat } from './run-chat.ts'
import type { RunEmbedding } from './run-embedding.ts'
import type { RunningGeneration } from './running-generations.ts'

/** What became of a ticket: `ran` when the engine gave output for it; only then its duration means anything. */
export type ProcessResult = 'ran' | 'not-ran'

/**
 * One generation in the worker: claim → run → end.
 *
 *   chat       render → cap → generate → parse → publish    run-chat.ts
 *   embedding  tokenize → embed → deliver                   run-embedding.ts
 *   end        last event ‖ settlement                      end-run.ts
 *
 * Every claimed generation gets exactly one ending. Rejects only when the record did not answer whether the ticket is
 * claimed.
 */
export function createProcessGeneration(deps: {
  claim: (ticket: GenerationTicket) => Promise<Claim>
  open: (job: GenerationJob, epoch: number) => RunningGeneration
  /** Whether this worker hands back what it claims: it is stopping, or its engine is not ready. */
  isStopping: () => boolean
  runChat: RunChat
  runEmbedding: RunEmbedding
  endRun: EndRun
}): (ticket: GenerationTicket) => Promise<ProcessResult> {
  const { open, isStopping, runChat, runEmbedding, endRun } = deps

  return async function processGeneration(ticket) {
    const claim = await deps.claim(ticket)
    if (claim.status !== 'claimed') return 'not-ran'

    const run = open(claim.job, ticket.epoch)
    try {
      run.signal.throwIfAborted()
      endRun(run, await runToEnd(run))
    } catch (error) {
      // A stop aborts the step that is under way: then the stop is the ending, whatever that step threw.
      const reason = run.stopReason()
      endRun(run, reason === null ? { status: 'failed', error } : { status: 'stopped', reason })
    } finally {
      run.close()
    }
    return run.hasOutput ? 'ran' : 'not-ran'
  }

  async function runToEnd(run: RunningGeneration): Promise<RunEnding> {
    if (isStopping()) return { status: 'declined', reason: 'worker-stopping', promptTokens: 0 }
    const { request } = run.job
    if (request.kind === 'chat') return await runChat(run, { ...run.job, request })
    return await runEmbedding(run, request)
  }
}
