import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { StreamInbox } from '#libs/event-bus/stream-inbox.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'

/**
 * Asks the worker of a generation whose caller has left to stop it, and to report how many tokens its engine was given.
 * Without this report a caller could have a prompt or texts computed and hang up before the gateway learns of it.
 * Returns at once. The inbox closes if no worker has claimed the generation, or after `REPORT_LIMIT_MS`.
 */
export type AskForReport = (job: Pick<GenerationJob, 'id' | 'model'>, inbox: StreamInbox) => void

/** A worker answers within milliseconds. Without its answer, only what the gateway has received is charged. */
const REPORT_LIMIT_MS = 2_000

export function createAskForReport(deps: {
  /** Returns the boot id of the worker that has claimed the generation, by its record; null if none has. */
  claimant: (model: string, id: string) => Promise<string | null>
  /** Asks the worker to stop these streams. */
  stop: ControlSender['stop']
}): AskForReport {
  const { claimant, stop } = deps

  async function ask({ id, model }: Pick<GenerationJob, 'id' | 'model'>, inbox: StreamInbox) {
    const worker = inbox.worker() ?? (await claimant(model, id).catch(() => null))
    if (worker === null) inbox.close()
    else await stop(worker, [{ stream: inbox.stream, epoch: inbox.epoch() }])
  }

  return (job, inbox) => {
    const timer = setTimeout(() => inbox.close(), REPORT_LIMIT_MS)
    void inbox.untilOver().then(() => clearTimeout(timer))
    void ask(job, inbox)
  }
}
