import type { Redis } from 'ioredis'
import { ChatTemplateError } from '#libs/chat-template/chat-renderer.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import { publishSignal } from '#libs/event-bus/scaling-signals.ts'
import { countAnswers, takeCountJob, type CountAnswer, type CountId } from '#libs/event-bus/token-counts.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import type { RenderPrompt } from './render-prompt.ts'

/** The most prompts that a worker counts at the same time, so that they delay the prompts of generations little. */
const MOST_COUNTED = 8

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
  let counted = 0

  async function count(redis: Redis, named: CountId): Promise<CountAnswer | null> {
    const { id } = named
    if (counted >= MOST_COUNTED) return { status: 'refused', id, code: 'model_busy', message: BUSY }
    counted += 1
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
        message: toOverflowMessage({ contextWindow }),
      }
    } catch (error) {
      if (error instanceof ChatTemplateError) {
        return { status: 'refused', id, code: 'invalid_request', message: error.message }
      }
      log.warn({ err: error }, 'a prompt was not counted')
      return { status: 'refused', id, code: 'upstream_error', message: FAILED }
    } finally {
      counted -= 1
    }
  }

  return async (named) => {
    const redis = redisOf(named.gateway)
    const answer = await count(redis, named)
    if (answer !== null) await publishSignal({ redis, log }, countAnswers(named.gateway), answer)
  }
}

const BUSY = 'Too many prompts are being counted; try again.'
const NOT_SERVED = 'The worker does not serve this model any more; try again.'
const FAILED = 'The prompt could not be counted.'
