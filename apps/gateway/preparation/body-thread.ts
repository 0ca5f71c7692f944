import { MessageChannel, Worker } from 'node:worker_threads'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
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

export type BodyThreadLimits = {
  /** Bodies that wait for the one that is being prepared. */
  readonly waiting: number
  /** A thread that takes longer for one body, its own start included, is replaced. */
  readonly prepareMs: number
  readonly heapMib: number
}

/**
 * One thread that prepares one body after the other. Its states are: *none*; *idle*; *busy* with one body.
 * It starts at once, so that the first large body need not wait for it, and after its end with the next body.
 */
export function createBodyThread(options: { limits: BodyThreadLimits; log: Logger }): BodyThread {
  const { limits, log } = options
  const waiting: Work[] = []
  let closed = false
  let busy: Work | null = null
  let thread: Worker | null = start()

  function start(): Worker {
    const started = new Worker(new URL('thread.ts', import.meta.url), {
      name: 'bodies',
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMib },
    })
    started.on('error', (error) => log.error({ err: error }, 'the thread for large bodies failed'))
    started.on('exit', () => {
      if (thread !== started) return
      thread = null
      busy?.fail(tooHard())
    })
    return started
  }

  function next() {
    busy = waiting.shift() ?? null
    if (busy === null) return
    thread ??= start()
    busy.begin(thread)
  }

  function giveUp() {
    const given = thread
    thread = null
    busy?.fail(tooHard())
    void given?.terminate()
  }

  return {
    async prepare<Result extends Prepared>(
      preparation: Preparation<Result>,
      body: Buffer,
      models: readonly ModelSpec[],
    ) {
      const place = PREPARATIONS.indexOf(preparation)
      if (place < 0) throw new Error('this preparation is not in the list of preparations')
      if (closed || waiting.length >= limits.waiting) throw tooMany()
      const { port1: inbox, port2: reply } = new MessageChannel()
      const { promise, resolve, reject } = Promise.withResolvers<Outcome<Result>>()
      inbox.on('message', (outcome: Outcome<Result>) => resolve(outcome))
      let timer: NodeJS.Timeout | undefined
      waiting.push({
        begin(on) {
          const order: Order = { preparation: place, body: toWhole(body), models, reply }
          timer = setTimeout(giveUp, limits.prepareMs)
          on.postMessage(order, [order.body, reply])
        },
        fail: reject,
      })
      if (busy === null) next()
      try {
        return toResult(await promise)
      } finally {
        clearTimeout(timer)
        inbox.close()
        next()
      }
    },
    async close() {
      closed = true
      for (const work of waiting.splice(0)) work.fail(tooMany())
      const ended = thread
      thread = null
      busy?.fail(tooMany())
      await ended?.terminate()
    },
  }
}

type Work = {
  readonly begin: (thread: Worker) => void
  readonly fail: (error: ApiError) => void
}

/** Bytes that share their memory with others cannot be given away. */
function toWhole(body: Buffer): ArrayBuffer {
  const { buffer } = body
  if (buffer instanceof ArrayBuffer && buffer.byteLength === body.byteLength) return buffer
  return new Uint8Array(body).buffer
}

function toResult<Result>(outcome: Outcome<Result>): Result {
  if (outcome.status === 'prepared') return outcome.prepared
  if (outcome.status === 'failed') throw new Error('the body was not prepared', { cause: outcome.error })
  const { code, message, param } = outcome
  throw new ApiError(code, message, param === undefined ? {} : { param })
}

const tooMany = () =>
  new ApiError('model_unavailable', 'Too many large requests are being read; try again.', { retryAfterS: 2 })

const tooHard = () =>
  new ApiError('model_unavailable', 'The body took more time or memory to read than a body may.', {
    retryAfterS: 5,
  })
