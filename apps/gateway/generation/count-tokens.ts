import type { Redis } from 'ioredis'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { subscribeSignal } from '#libs/event-bus/scaling-signals.ts'
import {
  COUNT_LIMIT_MS,
  countAnswers,
  deleteCountJob,
  writeCountJob,
  type CountAnswer,
  type CountId,
} from '#libs/event-bus/token-counts.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
import { createFairPot, type PotMember } from '#libs/fair-share/fair-pot.ts'
import type { Logger } from '#libs/telemetry/logger.ts'
import { RETRY_AFTER_S } from '../retry-after.ts'

/**
 * Returns the number of tokens of a prompt, as a worker of the model renders and tokenizes it. Throws an `ApiError`:
 *
 * - `model_unavailable` if no worker serves the model, or if no worker answers in time;
 * - `model_busy` if too many prompts are being counted;
 * - another code if the worker refuses the prompt.
 */
export type CountTokens = (model: ModelSpec, request: ChatRequest, counted: Counted) => Promise<number>

/** The account of a prompt that is being counted, and the bytes of its texts. */
type Counted = { readonly account: string; readonly bytes: number }

/**
 * The most prompts that this gateway lets be counted at the same time, in all and of one account, and their bytes. When
 * they are reached, the account with the most gives up a place to an account that has fewer.
 */
const MOST_WAITING = 64
const MOST_OF_ACCOUNT = MOST_WAITING / 4
const MOST_BYTES = 64 * 1_048_576
const MOST_BYTES_OF_ACCOUNT = MOST_BYTES / 2

/** `workersOf` returns the ready workers of a model; `random` returns a number from 0 to below 1. */
export async function createCountTokens(deps: {
  bus: Redis
  subscriber: Redis
  gateway: string
  workersOf: (model: string) => readonly string[]
  sendCount: ControlSender['count']
  newId: () => string
  random: () => number
  log: Logger
}): Promise<CountTokens> {
  const { bus, subscriber, gateway, workersOf, sendCount, newId, random, log } = deps
  const waiting = new Map<string, (answer: CountAnswer | null) => void>()
  const places = createFairPot<PotMember>(MOST_WAITING, MOST_OF_ACCOUNT)
  const memory = createFairPot<PotMember>(MOST_BYTES, MOST_BYTES_OF_ACCOUNT)
  await subscribeSignal({ subscriber, log }, countAnswers(gateway), (answer) =>
    waiting.get(answer.id)?.(answer),
  )

  /** Sends the message to the first worker that receives it. Returns whether one did. */
  async function send(count: Omit<CountId, 'gateway'>, workers: readonly string[]): Promise<boolean> {
    for (const worker of workers) if (await sendCount(worker, count)) return true
    return false
  }

  return async (model, request, counted) => {
    const workers = workersOf(model.id)
    if (workers.length === 0) throw unavailable(model)
    const first = Math.floor(random() * workers.length)
    const named = { gateway, id: newId() }
    const { promise, resolve } = Promise.withResolvers<CountAnswer | null>()
    const evict = () => resolve({ status: 'refused', id: named.id, code: 'model_busy', message: BUSY })
    const member = { owner: counted.account, evict }
    const leave = () => {
      places.leave(member)
      memory.leave(member)
    }
    if (!places.take(member, 1) || !memory.take(member, counted.bytes)) {
      leave()
      throw new ApiError('model_busy', BUSY)
    }
    const timer = setTimeout(() => resolve(null), COUNT_LIMIT_MS)
    waiting.set(named.id, resolve)
    let answer: CountAnswer | null = null
    try {
      await writeCountJob(bus, named, { model: model.id, contextWindow: model.contextWindow, request })
      const order = [...workers.slice(first), ...workers.slice(0, first)]
      if (await send({ id: named.id, ...counted }, order)) answer = await promise
    } catch (error) {
      throw unavailable(model, error)
    } finally {
      clearTimeout(timer)
      waiting.delete(named.id)
      leave()
      // A worker that counts has taken the job; any other job would stay until it expires.
      if (answer?.status !== 'counted') void deleteCountJob(bus, named).catch(() => undefined)
    }
    if (answer === null) throw unavailable(model)
    if (answer.status === 'refused') throw new ApiError(answer.code, answer.message)
    return answer.tokens
  }
}

const BUSY = 'Too many prompts are being counted; try again.'

function unavailable({ id }: ModelSpec, cause?: unknown): ApiError {
  return new ApiError('model_unavailable', `No worker of '${id}' can count tokens now.`, {
    retryAfterS: RETRY_AFTER_S.default,
    cause,
  })
}
