import { randomUUID } from 'node:crypto'
import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { Claiming, Enqueueing, Place } from '#libs/generation-record/generation-record.ts'
import { packJob } from '#libs/generation-record/pack-job.ts'
import { NO_SEATS } from '#libs/generation-record/seats.ts'
import { jobDate, toJobId, type QueuedJob } from '#libs/job-queue/job-queue.ts'

/** Creates a job with realistic values. A test sets only the fields that matter to it. */
export function generationJob(fields: Partial<ChatJob> = {}): ChatJob {
  return {
    id: randomUUID(),
    model: `model-${randomUUID()}`,
    gateway: 'gateway-1',
    stream: 1,
    hold: {
      amountNano: '1000000',
      inputPriceNano: '1000000',
      outputPriceNano: '2000000',
      outputTokens: 100,
      clamped: false,
      receipt: '',
    },
    tenant: { accountId: 'account-1', keyId: 'key-1' },
    maxOutputTokens: 100,
    contextWindow: 4_096,
    request: {
      kind: 'chat',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [],
      toolChoice: 'auto',
      parallelToolCalls: true,
      outputFormat: { type: 'text' },
      sampling: {},
      stop: [],
      reasoningEffort: 'low',
    },
    ...fields,
  }
}

/** Creates a place of an account of weight 1, for one token and without a narrow bound. */
export function enqueuePlace(fields: Partial<Place> = {}): Place {
  return { accountId: 'account-1', weight: 1, cost: 1, fixedCost: 0, mostAhead: 1_000_000, ...fields }
}

/** Creates a first enqueue without narrow bounds. */
export async function generationEnqueue(job: ChatJob, fields: Partial<Enqueueing> = {}): Promise<Enqueueing> {
  return {
    job: await packJob(job),
    epoch: 1,
    requirements: { features: ['chat'], window: 0 },
    tag: null,
    place: enqueuePlace(),
    bounds: { accountBytes: 1_000_000_000, modelBytes: 1_000_000_000 },
    remainingMs: 60_000,
    ids: new Uint32Array(),
    choices: null,
    promptTokens: null,
    engineDeaths: 0,
    seats: NO_SEATS,
    ...fields,
  }
}

/** Creates a claim by a worker that serves every generation of `generationEnqueue`. */
export function generationClaim(fields: Partial<Claiming> = {}): Claiming {
  return {
    worker: 'worker-1',
    nonce: randomUUID(),
    serves: { features: ['chat', 'continue'], window: 4_096 },
    buried: [],
    ...fields,
  }
}

/** Creates the job of a generation that waits in its first epoch. */
export function queuedJob(model: string, generation: string = randomUUID()): QueuedJob {
  return {
    id: toJobId(generation, 1, 1),
    model,
    kind: 'chat',
    data: { generation, epoch: 1, account: 'account-1', estimatedTokens: 100, waitsSince: jobDate() },
  }
}
