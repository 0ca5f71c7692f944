import type { Cluster, Redis } from 'ioredis'
import { z } from 'zod'
import type { ChoiceState } from '#libs/contracts/choices.ts'
import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { encodeTiming } from '#libs/contracts/settlement-timing.ts'
import { withNextWrite } from '#libs/redis/connect-redis.ts'
import {
  ALL_ACCOUNTS,
  idsKey,
  modelPrefix,
  requirementsKey,
  promptKey,
  recordKey,
  settlementMarkKey,
  settlementStateKey,
  waitingSumsKey,
} from '#libs/queue-redis/keys.ts'
import { encodeRequirements, type Requirements, type Serves } from './requirements.ts'
import { toStoredJob, unpackJob, unpackStoredJob, type PackedJob } from './pack-job.ts'
import { packIds, unpackIds } from './pack-ids.ts'
import { readReply, toUnexpected, type Reply } from './read-reply.ts'
import { createRunScript } from './run-script.ts'
import type { Seats } from './seats.ts'

/**
 * The most bytes that the waiting jobs of a model may have: `accountBytes` for the jobs of one account, `modelBytes`
 * for all jobs.
 */
export type Bounds = { readonly accountBytes: number; readonly modelBytes: number }

/** The facts that decide a generation's place in the fair order. Costs are whole tokens. */
export type Place = {
  readonly accountId: string
  /** The account's share of the model, relative to the other accounts whose generations wait: 1 or more. */
  readonly weight: number
  /**
   * The expected tokens of prompt and output, plus `fixedCost`. The settlement replaces the expected tokens by the used
   * ones.
   */
  readonly cost: number
  /** The part of the cost that does not depend on the used tokens. Every generation that runs pays it. */
  readonly fixedCost: number
  /** A first enqueue is answered `busy` if the generations before its tag cost more than this. */
  readonly mostAhead: number
}

/** The arguments of an enqueue. All enqueues of one epoch carry the same job, requirements, ids and prompt count. */
export type Enqueueing = {
  readonly job: PackedJob
  readonly epoch: number
  readonly requirements: Requirements
  /** The tag that the first enqueue returned; null in the first enqueue, in which the script issues the tag. */
  readonly tag: number | null
  readonly place: Place
  readonly bounds: Bounds
  /** The time until the generation's deadline. */
  readonly remainingMs: number
  /** The token ids of the output so far. This epoch continues after them. Empty in epoch 1 and after a restart. */
  readonly ids: Uint32Array
  /** How the ids belong to the choices; null if all belong to choice 0. */
  readonly choices: readonly ChoiceState[] | null
  /** The number of prompt tokens that a worker counted at the first claim; null before that claim. */
  readonly promptTokens: number | null
  readonly engineDeaths: number
  readonly seats: Seats
}

/** The worker that a generation waits for. `hasSeat`: a seat of the conversation names this worker. */
export type Home = { readonly worker: string; readonly hasSeat: boolean }

export type EnqueueAnswer =
  /**
   * - `tag`: where the generation waits; the tag of epoch 1 is passed to later enqueues.
   * - `ahead`: how many other generations wait at that tag or before it.
   * - `costAhead`: the estimated cost of these generations, if this call has admitted the generation; else null.
   * - `home`: the worker that the generation waits for, if this call has given it one. For `heldMs`, only this worker may
   *   claim the generation.
   */
  | {
      readonly status: 'waiting'
      readonly tag: number
      readonly ahead: number
      readonly costAhead: number | null
      readonly home: Home | null
    }
  /**
   * Only a first enqueue can be answered `busy`. It has then created no record and issued no tag. `ahead`: the cost of the
   * generations that would wait before this one.
   */
  | { readonly status: 'busy'; readonly reason: 'queue' | 'bytes'; readonly ahead: number }
  /** A worker has claimed this epoch. */
  | { readonly status: 'claimed'; readonly worker: string; readonly nonce: string }
  | { readonly status: 'settled' }
  /** The record is in a later epoch. */
  | { readonly status: 'superseded' }

export type Claiming = {
  /** The worker's boot id. */
  readonly worker: string
  /**
   * Each claim has its own nonce, which is never reused. A claim that got no answer is repeated with the same nonce.
   */
  readonly nonce: string
  readonly serves: Serves
  /**
   * The boot ids of gateways that presence has declared dead. A claim that finds one of their generations settles it at
   * 0.
   */
  readonly buried: readonly string[]
}

export type Claim =
  | {
      readonly status: 'claimed'
      readonly id: string
      readonly epoch: number
      readonly job: GenerationJob
      /** The token ids after which the output continues. */
      readonly ids: Uint32Array
      /** How the ids belong to the choices. Absent: all belong to choice 0. */
      readonly choices?: readonly ChoiceState[] | undefined
      readonly promptTokens: number | null
      readonly engineDeaths: number
      /** The time until the deadline; may be ≤ 0. */
      readonly remainingMs: number
      /** The number of further waiting generations that this worker may claim; 0 in the answer to a repeated claim. */
      readonly waiting: number
      /** How long the generation has waited in this epoch. */
      readonly waitedMs: number
      /** Present if generations wait that the worker does not serve. */
      readonly leavesUnserved?: true
    }
  /** No generation waits that the worker may claim. */
  | { readonly status: 'nothing'; readonly leavesUnserved?: true }
  /**
   * The generation is claimed, but its job cannot be parsed, or a part of the job is missing. The worker declines it.
   */
  | {
      readonly status: 'unreadable' | 'incomplete'
      readonly id: string
      readonly epoch: number
      readonly gateway: string
      readonly stream: number
    }

/**
 * The process that settles a generation. A worker settles only a generation that it has claimed, and only for a gateway
 * that is dead; its settlement reaches billing through `orphansKey`. A gateway's settlement always reaches billing,
 * whatever the record says.
 */
export type Settler =
  | { readonly role: 'gateway'; readonly extraCost?: number | undefined }
  | { readonly role: 'worker'; readonly worker: string }

export type Settled = {
  /**
   * - `recorded`: this call has settled the generation.
   * - `settled`: an earlier call has settled it.
   * - `stale`: the record is in a later epoch, or the worker that settles has not claimed the generation.
   */
  readonly status: 'recorded' | 'settled' | 'stale'
  /** The worker that had claimed the generation and must be stopped. */
  readonly worker: string | null
  /** True if the generation was waiting. */
  readonly waited: boolean
}

/**
 * How far billing has committed the settlements in a model's stream. A run of the stream is a period in which Redis
 * loses no acknowledged settlement. A new run with another id begins when settlements may have been lost: the server
 * restarted, a replica was promoted, or billing noticed that the stream had lost entries. `runId` is the id of the
 * present run. Billing has committed all settlements that were appended in this run up to the Redis time
 * `committedMs`. If `committedMs` is null, no such time is known.
 */
export type SettlementMark = { readonly runId: string; readonly committedMs: number | null }

/**
 * The generation's record: its one entry in the queue Redis, which decides who may run the generation and whether it is
 * settled. `enqueue`, `claim` and `settle` are one atomic script each and may be repeated, so an unanswered call is sent
 * again. Every function rejects if Redis does not answer; the call may have been executed all the same.
 */
export type GenerationRecord = {
  /**
   * Sets the record to the epoch of `enqueueing`, and adds the generation to the waiting ones. A record that does not
   * exist is created. Nothing changes if the record is settled, is in a later epoch, or is already claimed in this
   * epoch. A repeated enqueue keeps the generation's place. While Redis' memory is full, a first enqueue is refused with an
   * OOM error; other enqueues are not.
   */
  enqueue(enqueueing: Enqueueing): Promise<EnqueueAnswer>
  /**
   * Gives the worker a waiting generation that it serves: near the front of the fair order one whose home is this worker,
   * else the first one that no other worker is waited for (`scripts/claim.lua`).
   */
  claim(model: string, claiming: Claiming): Promise<Claim>
  /** Ends the wait of a generation for its home, so that every worker may claim it. */
  leaveHome(model: string, id: string): Promise<void>
  /** Returns the boot id of the worker that has claimed the generation in its present epoch; null if none has. */
  claimant(model: string, id: string): Promise<string | null>
  /**
   * Ends the generation, whether it waits, runs or is unknown. The first settlement wins. No client of the API waits
   * for this command. So the command is sent together with the connection's next other command (`withNextWrite`), such
   * as the enqueue of another generation.
   */
  settle(model: string, settlement: Omit<Settlement, 'by'>, as: Settler): Promise<Settled>
  readMark(model: string): Promise<SettlementMark>
  /**
   * Returns each of `ids` whose generation is settled or has no record. A worker that is cut off from the bus calls
   * this function.
   */
  settledOf(model: string, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Returns the bytes of all waiting jobs. */
  waitingBytes(model: string): Promise<number>
  redisTimeMs(): Promise<number>
}

/**
 * `self` is the boot id of this process. A record lives until its generation's deadline plus `graceMs`, so that late
 * settlements are still checked against it. A settled record lives for 60 s.
 */
export function createGenerationRecord(options: {
  redis: Redis | Cluster
  self: string
  graceMs: number
}): GenerationRecord {
  const { redis, self, graceMs } = options
  const run = createRunScript(redis)

  return {
    async enqueue(enqueueing) {
      const { job, tag } = enqueueing
      const isFirst = tag === null && enqueueing.epoch === 1
      const script = isFirst ? 'first-enqueue' : 'enqueue'
      const keys = [recordKey(job.model, job.id)]
      const send = async (request: Buffer | '') =>
        readEnqueue(await run(script, keys, toEnqueueArguments(enqueueing, { graceMs, request })))
      const enqueue = await send('')
      if (enqueue !== 'request') return enqueue
      const again = await send(job.requestBytes)
      if (again === 'request') throw new Error('the record asked for a request that it was sent')
      return again
    },

    async claim(model, { worker, nonce, serves, buried }) {
      const keys = [requirementsKey(model)]
      const features = serves.features.join(' ')
      const args = [modelPrefix(model), worker, nonce, features, String(serves.window), self, ...buried]
      for (let calls = 0; calls < MAX_CLAIM_CALLS; calls += 1) {
        const answer = await run('claim', keys, args)
        const reply = readReply(answer)
        if (reply.status === 'claimed') return await readClaimed(model, reply)
        if (reply.status === 'nothing') return { status: 'nothing', ...toLeft(reply.integer(0)) }
        if (reply.status !== 'again') throw toUnexpected(answer)
      }
      return { status: 'nothing' }
    },

    async leaveHome(model, id) {
      await redis.hdel(recordKey(model, id), 'home')
    },

    claimant: async (model, id) => await redis.hget(recordKey(model, id), 'worker'),

    async settle(model, settlement, as) {
      const { id, epoch, outcome, promptTokens, cachedTokens, completionTokens } = settlement
      const { receipt = '', traceparent = '', timing } = settlement
      const settler = as.role === 'worker' ? as.worker : ''
      const counts = [promptTokens, cachedTokens, completionTokens].map(String)
      const keys = [recordKey(model, id)]
      const args = [
        modelPrefix(model),
        id,
        String(epoch),
        as.role,
        settler,
        outcome,
        ...counts,
        self,
        receipt,
        traceparent,
        timing === undefined ? '' : encodeTiming(timing),
        ...(as.role === 'gateway' && as.extraCost !== undefined ? [String(as.extraCost)] : []),
      ]
      return readSettled(await withNextWrite(redis, async () => await run('settle', keys, args)))
    },

    async readMark(model) {
      const keys = [settlementMarkKey(model), settlementStateKey(model)]
      const [runId, mark] = MarkReply.parse(await run('read-mark', keys, []))
      const [markedRunId, ms] = mark.split(' ')
      return { runId, committedMs: markedRunId === runId && ms !== undefined ? Number(ms) : null }
    },

    async settledOf(model, ids) {
      const settled = new Set<string>()
      for (let start = 0; start < ids.length; start += SETTLED_OF_BATCH) {
        const batch = ids.slice(start, start + SETTLED_OF_BATCH)
        const keys = batch.map((id) => recordKey(model, id))
        const answers = z.array(z.int()).parse(await run('settled-of', keys, []))
        for (const [index, id] of batch.entries()) if (answers[index] === 1) settled.add(id)
      }
      return settled
    },

    async waitingBytes(model) {
      const sums = await redis.hget(waitingSumsKey(model), ALL_ACCOUNTS)
      return sums === null ? 0 : Number(sums.split(' ', 1)[0])
    },

    async redisTimeMs() {
      const [seconds, microseconds] = z
        .tuple([z.coerce.number(), z.coerce.number()])
        .parse(await redis.time())
      return seconds * 1_000 + Math.floor(microseconds / 1_000)
    },
  }

  /** Reads the large request and the ids, which the script does not return, and parses the job. */
  async function readClaimed(model: string, { text, integer }: Reply): Promise<Claim> {
    const [id, epoch, jobText, gateway, stream] = [text(0), integer(1), text(2), text(3), integer(4)]
    const [remainingMs, waiting, waitedMs] = [integer(5), integer(6), integer(7)]
    const problem = { id, epoch, gateway, stream }
    if (jobText === '') return { status: 'incomplete', ...problem }
    const stored = unpackStoredJob(jobText)
    if (stored === null) return { status: 'unreadable', ...problem }
    const { idCount, choices, promptTokens, engineDeaths = 0 } = stored
    const [requestBytes, idBytes] = await Promise.all([
      stored.isRequestApart ? redis.getBuffer(promptKey(model, id)) : EMPTY,
      idCount > 0 ? redis.getBuffer(idsKey(model, id)) : EMPTY,
    ])
    const ids = unpackIds(idBytes ?? EMPTY)
    if (requestBytes === null || ids.length !== idCount) return { status: 'incomplete', ...problem }
    const job = await unpackJob(stored, { id, model, gateway, stream }, requestBytes)
    if (job === null) return { status: 'unreadable', ...problem }
    const facts = { ids, promptTokens, engineDeaths, remainingMs, waiting, waitedMs, ...toLeft(integer(8)) }
    return { status: 'claimed', id, epoch, job, choices, ...facts }
  }
}

/**
 * The most calls of the script for one claim. Each call that is answered `again` has removed 64 generations from the
 * waiting ones, because they have expired or their gateways are dead.
 */
const MAX_CLAIM_CALLS = 64

const SETTLED_OF_BATCH = 256

const toLeft = (unserved: number) => (unserved > 0 ? { leavesUnserved: true as const } : {})

const EMPTY = Buffer.alloc(0)

/** Returns the arguments in the order of `scripts/enqueue.lua`. */
function toEnqueueArguments(
  enqueueing: Enqueueing,
  { graceMs, request }: { graceMs: number; request: Buffer | '' },
): (string | Buffer)[] {
  const { job, epoch, requirements, tag, place, bounds, remainingMs, ids, promptTokens, engineDeaths } =
    enqueueing
  const { taken, sought, otherwise, heldMs } = enqueueing.seats
  return [
    modelPrefix(job.model),
    job.id,
    String(epoch),
    encodeRequirements(requirements),
    tag === null ? '' : String(tag),
    place.accountId,
    String(place.weight),
    String(place.cost),
    String(place.fixedCost),
    String(place.mostAhead),
    String(bounds.accountBytes),
    String(bounds.modelBytes),
    String(Math.round(remainingMs)),
    String(graceMs),
    // An empty text instead of an empty Buffer, because ioredis writes a command without Buffers as one string.
    ids.length === 0 ? '' : packIds(ids),
    toStoredJob(job, {
      idCount: ids.length,
      ...(enqueueing.choices !== null && { choices: [...enqueueing.choices] }),
      promptTokens,
      ...(engineDeaths > 0 && { engineDeaths }),
    }),
    String(job.bytes),
    job.gateway,
    String(job.stream),
    job.requestBytes.length === 0 ? 'inline' : 'apart',
    request,
    taken.join(' '),
    sought.join(' '),
    otherwise ?? '',
    String(Math.round(heldMs)),
  ]
}

function readEnqueue(answer: unknown): EnqueueAnswer | 'request' {
  const { status, text, number, integer } = readReply(answer)
  switch (status) {
    case 'waiting': {
      const costAhead = integer(2) < 0 ? null : integer(2)
      const home = text(3) === '' ? null : { worker: text(3), hasSeat: integer(4) === 1 }
      return { status, tag: number(0), ahead: integer(1), costAhead, home }
    }
    case 'claimed':
      return { status, worker: text(0), nonce: text(1) }
    case 'busy': {
      const reason = text(0)
      if (reason !== 'queue' && reason !== 'bytes') throw toUnexpected(answer)
      return { status, reason, ahead: integer(1) }
    }
    case 'settled':
    case 'superseded':
      return { status }
    case 'request':
      return 'request'
    default:
      throw toUnexpected(answer)
  }
}

function readSettled(answer: unknown): Settled {
  const { status, text, integer } = readReply(answer)
  if (status !== 'recorded' && status !== 'settled' && status !== 'stale') throw toUnexpected(answer)
  return { status, worker: text(0) === '' ? null : text(0), waited: integer(1) === 1 }
}

const MarkReply = z.tuple([z.string(), z.string()])
