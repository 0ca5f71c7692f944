import { ApiError } from '#libs/contracts/api-error.ts'
import type { LossReason } from '#libs/event-bus/stream-inbox.ts'

/**
 * The reason why a generation cannot go on. It is either the reason for which the generation's last epoch was lost
 * (`LossReason`), or one of these:
 * - `engine-deaths`: engines died while they ran the generation.
 * - `fruitless`: too many epochs in a row gave no output.
 * - `constrained`: the output cannot be continued, and the client has received a part of it.
 * - `no-vectors`: vectors came without a claim, or for a model that makes no vectors.
 */
type InterruptionReason = LossReason | 'engine-deaths' | 'fruitless' | 'constrained' | 'no-vectors'

/** The cause of an `ApiError` that ends a generation; logged and counted, not sent. */
export class Interruption extends Error {
  readonly reason: InterruptionReason

  constructor(reason: InterruptionReason) {
    super(`the generation cannot go on: ${reason}`)
    this.name = 'Interruption'
    this.reason = reason
  }
}

/** Returns the error of a running generation that cannot go on. */
export function interrupted(reason: InterruptionReason): ApiError {
  return new ApiError('upstream_error', 'The generation was interrupted.', {
    cause: new Interruption(reason),
  })
}
