import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskThread, TaskThreadError, type TaskThreadLimits } from '#libs/threads/task-thread.ts'
import { PREPARATIONS, type Preparation, type Prepared } from './preparations.ts'
import type { Order, Outcome } from './thread.ts'

export type BodyThread = {
  /**
   * What `preparation` makes of these bytes, which are the thread's from now on. Throws an `ApiError`: the
   * preparation's own, or `model_unavailable` when too many bodies wait or the thread did not live to answer.
   */
  prepare<Result extends Prepared>(
    preparation: Preparation<Result>,
    body: Buffer,
    models: readonly ModelSpec[],
  ): Promise<Result>
  close(): Promise<void>
}

/** One thread that prepares one body after the other. */
export function createBodyThread(options: { limits: TaskThreadLimits; log: Logger }): BodyThread {
  const { limits, log } = options
  const module = new URL('thread.ts', import.meta.url)
  const thread = createTaskThread<Order>({ name: 'bodies', module, limits, log })
  return {
    async prepare<Result extends Prepared>(
      preparation: Preparation<Result>,
      body: Buffer,
      models: readonly ModelSpec[],
    ) {
      const place = PREPARATIONS.indexOf(preparation)
      if (place < 0) throw new Error('this preparation is not in the list of preparations')
      const order = { preparation: place, body: toWhole(body), models }
      try {
        return toResult(await thread.run<Outcome<Result>>(order, [order.body]))
      } catch (error) {
        if (error instanceof TaskThreadError) throw NOT_PREPARED[error.reason]()
        throw error
      }
    },
    close: thread.close,
  }
}

/** Bytes that share their memory with others cannot be given away. */
function toWhole(body: Buffer): ArrayBuffer {
  const { buffer } = body
  if (buffer instanceof ArrayBuffer && buffer.byteLength === body.byteLength) return buffer
  return new Uint8Array(body).buffer
}

function toResult<Result>(outcome: Outcome<Result>): Result {
  if (outcome.status === 'prepared') return outcome.prepared
  const { code, message, param } = outcome
  throw new ApiError(code, message, param === undefined ? {} : { param })
}

const NOT_PREPARED = {
  'too-many': () =>
    new ApiError('model_unavailable', 'Too many large requests are being read; try again.', {
      retryAfterS: 2,
    }),
  'too-hard': () =>
    new ApiError('model_unavailable', 'The body took more time or memory to read than a body may.', {
      retryAfterS: 5,
    }),
} as const
