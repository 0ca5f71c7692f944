import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from 'bullmq'
import { Redis } from 'ioredis'
import { openJobQueue } from '#libs/job-queue/job-queue.ts'

const EVERY_MS = 10

/** Removes or doubles every job of a model that it meets for so long, those in the hands of workers too. */
export async function disturbJobs(
  queueUrl: string,
  { kind, ms }: { readonly kind: 'lose-jobs' | 'double-jobs'; readonly ms: number },
): Promise<void> {
  const redis = new Redis(queueUrl, { maxRetriesPerRequest: 0, retryStrategy: null })
  redis.on('error', () => {})
  const queue = openJobQueue(redis, 'demo-chat')
  const double = async ({ id, name, data }: Job) => {
    // Each once.
    if (!id?.endsWith(TWIN)) await queue.add(name, data, { jobId: `${randomUUID()}${TWIN}` })
  }
  const endMs = performance.now() + ms
  // Where the queue is disturbed at this moment, there are no jobs.
  try {
    while (performance.now() < endMs) {
      const jobs = await queue.getJobs(['wait', 'active'], 0, 50)
      await Promise.allSettled(
        jobs.map(async (job) => await (kind === 'lose-jobs' ? job.remove() : double(job))),
      )
      await sleep(EVERY_MS)
    }
  } catch {
    // It came back without this connection.
  }
  await queue.close().catch(() => undefined)
  redis.disconnect()
}

const TWIN = '.0'
