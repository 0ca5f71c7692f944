import { randomUUID } from 'node:crypto'
import type { GenerationCall } from '#apps/gateway/generation/generation-call.ts'
import { generationJob } from './generation-job.ts'

/** A call of real values; tests name what matters to them. */
export function generationCall(fields: Partial<GenerationCall> = {}): GenerationCall {
  return {
    id: randomUUID(),
    caller: { keyId: 'key-1', accountId: 'account-1' },
    model: {
      id: 'demo-chat',
      created: 0,
      ownedBy: 'millrace',
      kind: 'chat',
      contextWindow: 4_096,
      maxOutputTokens: 2_048,
      tools: true,
      reasoning: false,
      defaultEffort: 'off',
      inputPriceNano: '1000000',
      cachedInputPriceNano: '500000',
      outputPriceNano: '2000000',
      enabled: true,
    },
    request: generationJob().request,
    maxOutputTokens: null,
    signal: new AbortController().signal,
    ...fields,
  }
}
