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
} from '#libs/event-bus/token-counts.ts'
import type { ControlSender } from '#libs/event-bus/worker-control.ts'
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

/** The most prompts that this gateway lets be counted at the same time, in all and of one account, and their bytes. */
const MOST_WAITING = 64
const MOST_OF_ACCOUNT = 16
const MOST_BYTES = 64 * 1_048_576

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
  const waiting = new Map<string, Counted & { readonly answer: (answer: CountAnswer | null) => void }>()
  await subscribeSignal({ subscriber, log }, countAnswers(gateway), (answer) =>
    waiting.get(answer.id)?.answer(answer),
  )

  function isBusy({ account, bytes }: Counted): boolean {
    const all = [...waiting.values()]
    const ofAccount = all.filter((other) => other.account === account)
    const sum = all.reduce((total, other) => total + other.bytes, bytes)
    return all.length >= MOST_WAITING || ofAccount.length >= MOST_OF_ACCOUNT || sum > MOST_BYTES
  }

  /** Sends the message to the first worker that receives it. Returns whether one did. */
  async function send(id: string, workers: readonly string[]): Promise<boolean> {
    for (const worker of workers) if (await sendCount(worker, id)) return true
    return false
  }

  return async (model, request, counted) => {
    if (isBusy(counted)) throw new ApiError('model_busy', BUSY)
    const workers = workersOf(model.id)
    if (workers.length === 0) throw unavailable(model)
    const first = Math.floor(random() * workers.length)
    const named = { gateway, id: newId() }
    const { promise, resolve } = Promise.withResolvers<CountAnswer | null>()
    const timer = setTimeout(() => resolve(null), COUNT_LIMIT_MS)
    waiting.set(named.id, { ...counted, answer: resolve })
    let answer: CountAnswer | null = null
    try {
      await writeCountJob(bus, named, { model: model.id, contextWindow: model.contextWindow, request })
      if (await send(named.id, [...workers.slice(first), ...workers.slice(0, first)])) answer = await promise
    } catch (error) {
      throw unavailable(model, error)
    } finally {
      clearTimeout(timer)
      waiting.delete(named.id)
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
