import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import type { RedisPlace } from '#libs/config/redis-fields.ts'
import type { Settlement } from '#libs/contracts/settlement.ts'
import { createCountWaiting } from '#libs/generation-record/count-waiting.ts'
import { createGenerationRecord, type EnqueueAnswer } from '#libs/generation-record/generation-record.ts'
import { createJobQueue } from '#libs/job-queue/job-queue.ts'
import { createJobPull, type JobPull } from '#libs/job-queue/pull-jobs.ts'
import { connectRedis } from '#libs/redis/connect-redis.ts'
import { generationClaim, generationJob, generationEnqueue, queuedJob } from '../../support/generation-job.ts'

const log = pino({ level: 'silent' })
const RETRY_MS = 50
const LIFT_AGAIN_MS = 500
const CLAIM_EVERY_MS = 200
const READ_MARK_EVERY_MS = 100

export type GenerationLoad = {
  /** Resolves when the generation's settlement is committed. Rejects when the load is stopped before. */
  run(model: string, settlement: Omit<Settlement, 'by'>): Promise<void>
  /** Returns the longest time, in ms, without a successful enqueue of the model. */
  longestOutageMs(model: string): number
  /** Returns how many jobs a worker has taken. */
  jobs(model: string): number
  /**
   * Returns how many enqueues were repeated because no worker claimed, and how many settlements because the server
   * changed.
   */
  repeats(): { enqueues: number; settlements: number }
  stop(): Promise<void>
}

type KeptSettlement = { readonly runId: string; readonly settledMs: number; end(isCommitted: boolean): void }

/**
 * Does the work of gateway and worker on the queue, with the real record, jobs and settlements. A generation is enqueued,
 * claimed and settled; each step is repeated until it is known to have happened.
 *
 * A settlement is kept until billing's mark covers it. The server's run id is noted before the settlement is sent, and
 * the time after it was sent. So a server that has lost the settlement is never mistaken for one that has it.
 */
export async function startLoad(place: RedisPlace, models: readonly string[]): Promise<GenerationLoad> {
  const stopping = new AbortController()
  const failFast = await connectRedis({ place, name: 'load', patience: 'fail-fast', log })
  const patient = await connectRedis({ place, name: 'load-jobs', patience: 'patient', log })
  const record = createGenerationRecord({ redis: failFast, self: 'gateway-1', graceMs: 60_000 })
  const queue = createJobQueue({ redis: failFast, countWaiting: createCountWaiting(failFast) })
  const onClaim = new Map<string, () => void>()
  const enqueued = new Map<string, { lastMs: number; longestMs: number }>()
  const jobs = new Map<string, number>()
  const unsettled = new Map(models.map((model) => [model, new Set<KeptSettlement>()]))
  const repeats = { enqueues: 0, settlements: 0 }

  const pulls = models.map((model) => {
    const pull = createJobPull({ redis: patient, model, log })
    void takeJobs(model, pull)
    return pull
  })

  async function takeJobs(model: string, pull: JobPull) {
    while (!stopping.signal.aborted) {
      const turn = await pull.next()
      if (turn === null) continue
      jobs.set(model, (jobs.get(model) ?? 0) + 1)
      await claimAll(model)
      turn.done()
    }
  }

  async function claimAll(model: string) {
    for (;;) {
      const claim = await record.claim(model, generationClaim()).catch(() => null)
      if (claim?.status !== 'claimed') return
      onClaim.get(claim.id)?.()
    }
  }

  async function readMark(model: string) {
    const kept = unsettled.get(model)
    if (kept === undefined || kept.size === 0) return
    const mark = await record.readMark(model).catch(() => null)
    if (mark === null) return
    for (const one of kept) {
      if (mark.runId !== one.runId) one.end(false)
      else if (mark.committedMs !== null && mark.committedMs >= one.settledMs) one.end(true)
    }
  }

  async function ofAllModels(act: (model: string) => Promise<void>, everyMs: number) {
    while (!stopping.signal.aborted) {
      await Promise.all(models.map(act))
      await pause(everyMs)
    }
  }

  async function enqueueUntilClaimed(model: string, id: string) {
    const { promise, resolve } = Promise.withResolvers<void>()
    onClaim.set(id, resolve)
    const enqueueing = await generationEnqueue(generationJob({ id, model }))
    let tag: number | null = null
    for (let enqueues = 0; !stopping.signal.aborted;) {
      const enqueue: EnqueueAnswer | null = await record.enqueue({ ...enqueueing, tag }).catch(() => null)
      if (enqueue === null) {
        await pause(RETRY_MS)
        continue
      }
      enqueues += 1
      if (enqueues > 1) repeats.enqueues += 1
      noteEnqueue(model)
      if (enqueue.status !== 'waiting') break
      tag = enqueue.tag
      await queue.add(queuedJob(model, id)).catch(() => undefined)
      const again = pause(LIFT_AGAIN_MS).then(() => 'again')
      if ((await Promise.race([promise, again])) !== 'again') break
    }
    onClaim.delete(id)
  }

  function noteEnqueue(model: string) {
    const nowMs = performance.now()
    const { lastMs, longestMs } = enqueued.get(model) ?? { lastMs: nowMs, longestMs: 0 }
    enqueued.set(model, { lastMs: nowMs, longestMs: Math.max(longestMs, nowMs - lastMs) })
  }

  async function settleUntilCommitted(model: string, settlement: Omit<Settlement, 'by'>) {
    for (let sent = 0; !stopping.signal.aborted;) {
      try {
        const { runId } = await record.readMark(model)
        await record.settle(model, settlement, { role: 'gateway' })
        const settledMs = await record.redisTimeMs()
        if (sent > 0) repeats.settlements += 1
        sent += 1
        if (await isCommitted(model, runId, settledMs)) return
      } catch {
        await pause(RETRY_MS)
      }
    }
    throw new Error('stopped before it was committed')
  }

  async function isCommitted(model: string, runId: string, settledMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const one = { runId, settledMs, end: resolve }
    unsettled.get(model)?.add(one)
    const answer = await promise
    unsettled.get(model)?.delete(one)
    return answer
  }

  async function pause(ms: number) {
    await sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  const loops = [ofAllModels(claimAll, CLAIM_EVERY_MS), ofAllModels(readMark, READ_MARK_EVERY_MS)]
  return {
    async run(model, settlement) {
      await enqueueUntilClaimed(model, settlement.id)
      await settleUntilCommitted(model, settlement)
    },
    longestOutageMs: (model) => enqueued.get(model)?.longestMs ?? Infinity,
    jobs: (model) => jobs.get(model) ?? 0,
    repeats: () => repeats,
    async stop() {
      stopping.abort()
      for (const kept of unsettled.values()) for (const one of kept) one.end(false)
      await Promise.all(loops)
      await Promise.all(pulls.map((pull) => pull.close()))
      await queue.close()
      failFast.disconnect()
      patient.disconnect()
    },
  }
}
