import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskThread, TaskThreadError, type TaskThreadLimits } from '#libs/threads/task-thread.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'
import type { BodyOutcome, BodyTask } from './body-thread-tasks.ts'
import { PREPARATIONS } from './preparations.ts'
import type { Prepare, Prepared, PrepareOnThread, Sized } from './prepare-request.ts'

type BodyThread = {
  /** Besides the preparation's own refusals: `model_unavailable` when too many bodies wait or one takes too much. */
  readonly prepareOnThread: PrepareOnThread
  close(): Promise<void>
}

/** Starts the thread that prepares large bodies, one at a time. */
export function createBodyThread(options: { limits: TaskThreadLimits; log: Logger }): BodyThread {
  const { limits, log } = options
  const module = new URL('body-thread-tasks.ts', import.meta.url)
  const thread = createTaskThread<BodyTask>({ name: 'bodies', module, limits, log })
  return {
    async prepareOnThread<Result extends Prepared>(
      prepare: Prepare<Result>,
      body: Buffer,
      models: readonly ModelSpec[],
    ) {
      const preparation = PREPARATIONS.indexOf(prepare)
      if (preparation < 0) throw new Error('the operation is missing in the list of preparations')
      const task = { preparation, body: toTransferable(body), models }
      try {
        return toResult(await thread.run<BodyOutcome<Sized<Result>>>(task, [task.body]))
      } catch (error) {
        if (error instanceof TaskThreadError) throw toRefusal(error)
        throw error
      }
    },
    close: thread.close,
  }
}

/** Memory that other buffers share cannot be transferred; then the bytes are copied. */
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

function toRefusal({ reason }: TaskThreadError): ApiError {
  return reason === 'too-many'
    ? new ApiError('model_unavailable', 'Too many large requests are being read; try again.', {
        retryAfterS: RETRY_AFTER_S.largeBodies,
      })
    : new ApiError('model_unavailable', 'The body took more time or memory to read than a body may.')
}
