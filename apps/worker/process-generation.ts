import type { Claim } from '#libs/generation-record/generation-record.ts'
import type { EndRun, RunEnding } from './run/end-run.ts'
import type { Taken } from './intake/pull.ts'
import type { RunChat } from './run/run-chat.ts'
import type { RunEmbedding } from './run/run-embedding.ts'
import type { ClaimedGeneration, RunningGeneration } from './run/running-generation.ts'

/** A claim whose job cannot be read. */
export type UnreadClaim = Extract<Claim, { readonly status: 'unreadable' | 'incomplete' }>

/**
 * One generation in the worker: claim → run → end.
 *
 *   chat       render → cap → replay → generate → parse → publish    run-chat.ts, run-choices.ts
 *   embedding  tokenize → embed → deliver                            run-embedding.ts
 *   end        last events, or hand back                             end-run.ts
 *
 * The created function claims a generation and returns a promise. The promise resolves as soon as the claim is answered:
 * with the claimed generation (`Taken`), or with null if there is none. It rejects only if the claim gets no answer. Every
 * claimed generation gets exactly one ending.
 */
export function createProcessGeneration(deps: {
  claim: () => Promise<Claim>
  open: (claim: ClaimedGeneration) => RunningGeneration
  /** Returns whether this worker runs the claimed epoch already, or has run it. */
  hasHad: (claim: ClaimedGeneration) => boolean
  /** Hands back a generation that cannot be read; its gateway queues all of it again. */
  giveBack: (claim: UnreadClaim) => void
  /** Returns why this worker must hand back a claimed generation; null if it may run it. */
  whyNotRun: () => 'worker-stopping' | 'engine-lost' | null
  runChat: RunChat
  runEmbedding: RunEmbedding
  endRun: EndRun
}): () => Promise<Taken | null> {
  const { open, hasHad, giveBack, whyNotRun, runChat, runEmbedding, endRun } = deps

  return async function processGeneration() {
    const claim = await deps.claim()
    switch (claim.status) {
      case 'nothing':
        return null
      case 'unreadable':
      case 'incomplete':
        giveBack(claim)
        return { ended: Promise.resolve(), waiting: 0 }
      case 'claimed': {
        const ended = hasHad(claim) ? Promise.resolve() : runClaimed(open(claim))
        return { ended, waiting: claim.waiting }
      }
    }
  }

  async function runClaimed(run: RunningGeneration): Promise<void> {
    try {
      await endRun(run, await runToEnd(run))
    } catch (error) {
      // A stop aborts the step under way. Then the stop is the ending, whatever the step threw.
      const reason = run.stopReason()
      await endRun(run, reason === null ? { status: 'failed', error } : { status: 'stopped', reason })
    } finally {
      run.close()
    }
  }

  async function runToEnd(run: RunningGeneration): Promise<RunEnding> {
    const reason = whyNotRun()
    if (reason !== null) return { status: 'stopped', reason }
    const { request } = run.job
    if (request.kind === 'chat') return await runChat(run, { ...run.job, request })
    return await runEmbedding(run, request)
  }
}
