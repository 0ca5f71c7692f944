import type { Redis } from 'ioredis'
import { z } from 'zod'
import { GENERATION_ERROR_CODES } from '#libs/contracts/generation-event.ts'
import { ChatRequest } from '#libs/contracts/generation-request.ts'
import { keyPrefix } from '#libs/queue-redis/keys.ts'
import type { Signal } from './scaling-signals.ts'

/**
 * A worker counts the tokens of a prompt for a gateway in these steps:
 *
 * 1. The gateway writes a job with the prompt (`CountJob`) to a key of the bus.
 * 2. The gateway names the key in a control message. The prompt is not in the message, because a large prompt could
 *    overflow the buffer of the worker's subscription.
 * 3. The worker takes the key, counts, and answers on the gateway's channel of counts.
 *
 * Nothing is sent again: if a message is lost, the gateway's wait ends after `COUNT_LIMIT_MS`.
 */
const CountJob = z.object({
  model: z.string(),
  /** The context window of the model, in tokens. */
  contextWindow: z.int().min(1),
  request: ChatRequest,
})
export type CountJob = z.infer<typeof CountJob>

/** Names the job of one count. A gateway of an earlier release sends no account and no bytes. */
export const CountId = z.object({
  gateway: z.string(),
  id: z.string(),
  /** The account, so that the worker counts for the accounts in turn. */
  account: z.string().default(''),
  /** The bytes of the prompt's texts. */
  bytes: z.int().min(0).default(0),
})
export type CountId = z.infer<typeof CountId>

/** A worker's answer. */
const CountAnswer = z.discriminatedUnion('status', [
  z.object({ status: z.literal('counted'), id: z.string(), tokens: z.int().min(0) }),
  z.object({
    status: z.literal('refused'),
    id: z.string(),
    code: z.enum([...GENERATION_ERROR_CODES, 'model_busy']),
    /** Shown to the caller. */
    message: z.string(),
  }),
])
export type CountAnswer = z.infer<typeof CountAnswer>

/** How long a gateway waits for an answer, and how long a job stays that no worker takes. */
export const COUNT_LIMIT_MS = 5_000

/** The answers to this gateway. */
export const countAnswers = (gateway: string): Signal<CountAnswer> => ({
  channel: () => `${keyPrefix()}counts:${gateway}`,
  schema: CountAnswer,
})

/** A gateway's keys share a hash tag, because like its channels they belong to one server. */
type JobName = Pick<CountId, 'gateway' | 'id'>
const jobKey = ({ gateway, id }: JobName) => `${keyPrefix()}count:{${gateway}}:${id}`

/** Writes a job that a worker may take until the gateway's wait ends. */
export async function writeCountJob(redis: Redis, id: JobName, job: CountJob): Promise<void> {
  await redis.set(jobKey(id), JSON.stringify(job), 'PX', COUNT_LIMIT_MS)
}

/** Takes a job, so that no other worker counts it. Returns null if it is gone. Throws for a job of another shape. */
export async function takeCountJob(redis: Redis, id: JobName): Promise<CountJob | null> {
  const text = await redis.getdel(jobKey(id))
  return text === null ? null : CountJob.parse(JSON.parse(text))
}

/** Deletes a job that no worker has taken. */
export async function deleteCountJob(redis: Redis, id: JobName): Promise<void> {
  await redis.del(jobKey(id))
}
