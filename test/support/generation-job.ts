import { randomUUID } from 'node:crypto'
import type { ChatJob } from '#libs/contracts/generation-job.ts'

/** A job of real values; tests name what matters to them. */
export function generationJob(fields: Partial<ChatJob> = {}): ChatJob {
  const now = Date.now()
  return {
    id: randomUUID(),
    model: `model-${randomUUID()}`,
    gateway: 'gateway-1',
    stream: 1,
    hold: {
      amountNano: '1000000',
      inputPriceNano: '1000000',
      outputPriceNano: '2000000',
      clamped: false,
      receipt: 'receipt',
    },
    maxOutputTokens: 100,
    contextWindow: 4_096,
    deadlineMs: now + 60_000,
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
