import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from 'bullmq'
import { Redis } from 'ioredis'
import { openJobQueue } from '#libs/job-queue/job-queue.ts'

const EVERY_MS = 10

/** For some time, removes or doubles every job of a model that it finds, including jobs that a worker has taken. */
export async function disturbJobs(
  queueUrl: string,
  { kind, ms }: { readonly kind: 'lose-jobs' | 'double-jobs'; readonly ms: number },
): Promise<void> {
  const redis = new Redis(queueUrl, { maxRetriesPerRequest: 0, retryStrategy: null })
  redis.on('error', () => {})
  const queue = openJobQueue(redis, 'demo-chat')
  const double = async ({ id, name, data }: Job) => {
    // A job that is a double is not doubled again.
    if (!id?.endsWith(TWIN)) await queue.add(name, data, { jobId: `${randomUUID()}${TWIN}` })
  }
  const endMs = performance.now() + ms
  // A command fails while another fault disturbs the queue Redis.
  try {
    while (performance.now() < endMs) {
      const jobs = await queue.getJobs(['wait', 'active'], 0, 50)
      await Promise.allSettled(
        jobs.map(async (job) => await (kind === 'lose-jobs' ? job.remove() : double(job))),
      )
      await sleep(EVERY_MS)
    }
  } catch {
    // The connection is lost, so the jobs stay as they are.
  }
  await queue.close().catch(() => undefined)
  redis.disconnect()
}

const TWIN = '.0'
