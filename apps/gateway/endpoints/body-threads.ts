import { ApiError } from '#libs/contracts/api-error.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskPool } from '#libs/threads/task-pool.ts'
import { TaskThreadError, type TaskThreadLimits } from '#libs/threads/task-thread.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { BodyOutcome, BodyTask } from './body-thread-tasks.ts'
import { PREPARATIONS } from './preparations.ts'
import type { Prepare, Prepared, PrepareOnThread, PreparingOnThread, Sized } from './prepare-request.ts'

export type BodyThreadLimits = TaskThreadLimits & {
  readonly threads: number
  /** How many bodies of one account may wait. */
  readonly waitingOfAccount: number
}

type BodyThreads = {
  /**
   * Throws the errors of the preparation. Also throws an `ApiError`: `invalid_request` for a body that takes too much
   * time or memory, `model_unavailable` if too many bodies wait.
   */
  readonly prepareOnThread: PrepareOnThread
  close(): Promise<void>
}

/** Starts the threads that prepare bodies. The threads take the waiting bodies of the accounts in rotation. */
export function createBodyThreads(options: { limits: BodyThreadLimits; log: Logger }): BodyThreads {
  const { limits, log } = options
  const pool = createTaskPool<BodyTask>({
    name: 'bodies',
    size: limits.threads,
    module: new URL('body-thread-tasks.ts', import.meta.url),
    waitingOfOwner: limits.waitingOfAccount,
    limits,
    log,
  })
  return {
    async prepareOnThread<Result extends Prepared>(
      prepare: Prepare<Result>,
      body: Buffer,
      { owner, ...context }: PreparingOnThread,
    ) {
      const preparation = PREPARATIONS.indexOf(prepare)
      if (preparation < 0) throw new Error('the operation is missing in the list of preparations')
      const task = { preparation, body: toTransferable(body), ...context }
      try {
        return toResult(await pool.run<BodyOutcome<Sized<Result>>>(task, [task.body], owner))
      } catch (error) {
        if (error instanceof TaskThreadError) throw toRefusal(error)
        throw error
      }
    },
    close: pool.close,
  }
}

/** Memory that other buffers share cannot be transferred, so in that case the bytes are copied. */
function toTransferable(body: Buffer): ArrayBuffer {
  const { buffer } = body
  if (buffer instanceof ArrayBuffer && buffer.byteLength === body.byteLength) return buffer
  return new Uint8Array(body).buffer
}

function toResult<Result>(outcome: BodyOutcome<Result>): Result {
  if (outcome.status === 'prepared') return outcome.prepared
  const { code, message, param } = outcome
  throw new ApiError(code, message, param === undefined ? {} : { param })
}

/**
 * A body that takes too much time or memory (`too-hard`) is refused with a 400. After a 503 clients would repeat the
 * request, and each repetition would cost as much as the first request.
 */
function toRefusal(error: TaskThreadError): ApiError {
  if (error.reason === 'too-hard') {
    return new ApiError('invalid_request', 'The body takes more time or memory to read than a body may.')
  }
  return new ApiError('model_unavailable', 'Too many large requests are being read; try again.', {
    retryAfterS: RETRY_AFTER_S.largeBodies,
    ...(error.reason === 'not-started' && { cause: error }),
  })
}
