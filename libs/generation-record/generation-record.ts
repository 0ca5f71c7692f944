import type { Redis } from 'ioredis'
import { z } from 'zod'
import { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { GenerationTicket } from '#libs/contracts/generation-job.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import {
  fairKey,
  finishKey,
  issuedKey,
  issuedAtKey,
  promptKey,
  recordKey,
  settlementStreamKey,
  waitingExpiryKey,
  waitingKey,
} from './keys.ts'
import { packRequest, unpackRequest } from './pack-request.ts'
import { FIRST_TAG } from './priorities.ts'
import { createRunScript } from './run-script.ts'

export type Admission = { readonly admitted: boolean; readonly tag: number; readonly ahead: number }

/** `opened` by this call; the other states are those of a record that an earlier call or a cancel had created. */
export type Opening =
  | { readonly status: 'opened' | 'waiting' | 'settled' }
  | { readonly status: 'claimed'; readonly worker: string }

export type Claim =
  | { readonly status: 'claimed'; readonly job: GenerationJob }
  | { readonly status: 'gone' | 'settled' | 'cancelled' | 'stale' | 'taken' }

export type Cancellation =
  | { readonly status: 'released' }
  | { readonly status: 'claimed'; readonly worker: string }
  | { readonly status: 'settled' }

export type Raise =
  | { readonly status: 'raised'; readonly epoch: number }
  | { readonly status: 'gone' | 'settled' | 'cancelled' | 'stale' }

export type SettleResult = 'recorded' | 'settled' | 'stale'

/**
 * The generation's record: its one entry in the queue Redis, which decides who may run it and whether it is
 * settled. Every function is one atomic script and may be repeated.
 */
export type GenerationRecord = {
  /** Issues a fair tag, or refuses when more than `mostAhead` generations are before it. */
  admit(model: string, generation: { id: string; accountId: string; mostAhead: number }): Promise<Admission>
  /** Creates the record and adds it to the waiting set, or returns the state of the record that exists. */
  open(job: GenerationJob, tag: number): Promise<Opening>
  /** Claims a generation for `worker` and returns its whole job. Throws a ZodError when the job cannot be read. */
  claim(model: string, ticket: GenerationTicket, worker: string): Promise<Claim>
  /** Settles a waiting generation, or marks a running one as cancelled. */
  cancel(model: string, id: string): Promise<Cancellation>
  /** Opens the next epoch; `job` replaces the recorded job unless `keepJob`. */
  raise(job: GenerationJob, ended: { epoch: number; keepJob: boolean }): Promise<Raise>
  /** Ends the generation. The first settlement of the current epoch wins. */
  settle(model: string, settlement: Omit<Settlement, 'by'>): Promise<SettleResult>
}

/**
 * `self` is the boot id of this process. A record lives until its generation's deadline plus `graceMs`, so that a late
 * settlement is still fenced.
 */
export function createGenerationRecord(options: {
  redis: Redis
  self: string
  graceMs: number
  nowMs: () => number
}): GenerationRecord {
  const { self, graceMs, nowMs } = options
  const run = createRunScript(options.redis)

  return {
    async admit(model, { id, accountId, mostAhead }) {
      const keys = [
        waitingKey(model),
        waitingExpiryKey(model),
        issuedKey(model),
        issuedAtKey(model),
        finishKey(model),
        fairKey(model),
      ]
      const reply = await run('admit', keys, [id, accountId, String(mostAhead), String(FIRST_TAG)])
      const [admitted, tag, ahead] = AdmitReply.parse(reply)
      return { admitted: admitted === 1, tag, ahead }
    },

    async open(job, tag) {
      const { jobText, requestBytes } = await packRequest(job)
      const keys = [
        recordKey(job.model, job.id),
        waitingKey(job.model),
        waitingExpiryKey(job.model),
        issuedKey(job.model),
        issuedAtKey(job.model),
        promptKey(job.model, job.id),
      ]
      const expireAtMs = String(job.deadlineMs + graceMs)
      const args = [job.id, String(tag), jobText, expireAtMs, requestBytes]
      const reply = OpenReply.parse(await run('open', keys, args))
      return reply[0] === 'claimed' ? { status: 'claimed', worker: reply[1] } : { status: reply[0] }
    },

    async claim(model, { id, epoch }, worker) {
      const keys = [
        recordKey(model, id),
        waitingKey(model),
        waitingExpiryKey(model),
        fairKey(model),
        promptKey(model, id),
      ]
      const reply = ClaimReply.parse(await run('claim', keys, [id, String(epoch), worker]))
      if (reply[0] !== 'claimed') return { status: reply[0] }
      return { status: 'claimed', job: GenerationJob.parse(await unpackRequest(reply[1], reply[2])) }
    },

    async cancel(model, id) {
      const keys = [
        recordKey(model, id),
        waitingKey(model),
        waitingExpiryKey(model),
        settlementStreamKey(model),
        promptKey(model, id),
      ]
      // A tombstone must outlive an `open` that is still on its way, which takes less than the grace.
      const tombstoneUntilMs = String(nowMs() + graceMs)
      const reply = CancelReply.parse(await run('cancel', keys, [id, self, tombstoneUntilMs]))
      return reply[0] === 'claimed' ? { status: 'claimed', worker: reply[1] } : { status: reply[0] }
    },

    async raise(job, { epoch, keepJob }) {
      const keys = [recordKey(job.model, job.id), waitingKey(job.model), waitingExpiryKey(job.model)]
      const jobText = keepJob ? '' : (await packRequest(job)).jobText
      const expireAtMs = String(job.deadlineMs + graceMs)
      const reply = RaiseReply.parse(await run('raise', keys, [job.id, String(epoch), jobText, expireAtMs]))
      return reply[0] === 'raised' ? { status: 'raised', epoch: reply[1] } : { status: reply[0] }
    },

    async settle(model, { id, epoch, outcome, promptTokens, cachedTokens, completionTokens, receipt = '' }) {
      const keys = [
        recordKey(model, id),
        waitingKey(model),
        waitingExpiryKey(model),
        settlementStreamKey(model),
        promptKey(model, id),
      ]
      const counts = [promptTokens, cachedTokens, completionTokens].map(String)
      return SettleReply.parse(
        await run('settle', keys, [id, String(epoch), outcome, ...counts, self, receipt]),
      )
    },
  }
}

const Text = z.instanceof(Buffer).transform((bytes) => bytes.toString())
const text = <const Value extends string>(...values: Value[]) => Text.pipe(z.enum(values))

const AdmitReply = z.tuple([z.int(), z.int(), z.int()])
const OpenReply = z.union([z.tuple([text('claimed'), Text]), z.tuple([text('opened', 'waiting', 'settled')])])
const ClaimReply = z.union([
  z.tuple([text('claimed'), Text, z.instanceof(Buffer)]),
  z.tuple([text('gone', 'settled', 'cancelled', 'stale', 'taken')]),
])
const CancelReply = z.union([z.tuple([text('claimed'), Text]), z.tuple([text('released', 'settled')])])
const RaiseReply = z.union([
  z.tuple([text('raised'), z.int()]),
  z.tuple([text('gone', 'settled', 'cancelled', 'stale')]),
])
const SettleReply = text('recorded', 'settled', 'stale')
