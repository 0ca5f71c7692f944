import type { Redis } from 'ioredis'
import { ChatTemplateError } from '#libs/chat-template/chat-renderer.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import { publishSignal } from '#libs/event-bus/scaling-signals.ts'
import { countAnswers, takeCountJob, type CountAnswer, type CountId } from '#libs/event-bus/token-counts.ts'
import { createNamedLimit } from '#libs/fair-share/fair-limit.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RenderPrompt } from './render-prompt.ts'

/**
 * A prompt of this size or more may be rendered and encoded on threads that the prompts of generations need as well.
 * Only one such prompt is counted at a time, so that it leaves a thread to them.
 */
const LARGE_BYTES = 16_384
/** The most smaller prompts that a worker counts at the same time. With the large one there are eight places. */
const MOST_SMALL = 7
/** One account has at most one place of each kind, a quarter of all. The accounts whose prompts wait take turns. */
const MOST_OF_ACCOUNT = 1
const MOST_WAITING = 512

/**
 * Returns the handler of a gateway's request to count a prompt's tokens. The engine is not called. `redisOf` returns the
 * bus of a gateway. `find` returns the renderer of a model's prompts, or undefined if this worker does not serve the model.
 */
export function createCountTokens(deps: {
  redisOf: (gateway: string) => Redis
  find: (model: string) => RenderPrompt | undefined
  log: Logger
}): (count: CountId) => Promise<void> {
  const { redisOf, find, log } = deps
  const runSmall = createNamedLimit(MOST_SMALL, MOST_OF_ACCOUNT)
  const runLarge = createNamedLimit(1, MOST_OF_ACCOUNT)
  let waiting = 0

  async function countInTurn(redis: Redis, named: CountId): Promise<CountAnswer | null> {
    const { id, account, bytes } = named
    if (waiting >= MOST_WAITING) return { status: 'refused', id, code: 'model_busy', message: BUSY }
    waiting += 1
    try {
      const run = bytes < LARGE_BYTES ? runSmall : runLarge
      return await run(account, async () => await count(redis, named))
    } finally {
      waiting -= 1
    }
  }

  async function count(redis: Redis, named: CountId): Promise<CountAnswer | null> {
    const { id } = named
    try {
      const job = await takeCountJob(redis, named)
      if (job === null) return null
      const render = find(job.model)
      if (render === undefined)
        return { status: 'refused', id, code: 'model_unavailable', message: NOT_SERVED }
      const { contextWindow } = job
      const tokens = (await render(job, contextWindow)).ids.length
      // Only the beginning of a far longer prompt is tokenized.
      if (tokens <= 2 * contextWindow) return { status: 'counted', id, tokens }
      return {
        status: 'refused',
        id,
        code: 'context_length_exceeded',
        message: toOverflowMessage({ contextWindow, tokens, isLeast: true }),
      }
    } catch (error) {
      if (error instanceof ChatTemplateError) {
        return { status: 'refused', id, code: 'invalid_request', message: error.message }
      }
      log.warn({ err: error }, 'a prompt was not counted')
      return { status: 'refused', id, code: 'upstream_error', message: FAILED }
    }
  }

  return async (named) => {
    const redis = redisOf(named.gateway)
    const answer = await countInTurn(redis, named)
    if (answer !== null) await publishSignal({ redis, log }, countAnswers(named.gateway), answer)
  }
}

const BUSY = 'Too many prompts are being counted; try again.'
const NOT_SERVED = 'The worker does not serve this model any more; try again.'
const FAILED = 'The prompt could not be counted.'
