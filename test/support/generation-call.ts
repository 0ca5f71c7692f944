import { randomUUID } from 'node:crypto'
import { NO_CONVERSATION } from '#apps/gateway/generation/request/conversation.ts'
import type { GenerationCall } from '#apps/gateway/generation/request/generation-call.ts'
import { sizeOf } from '#libs/contracts/request-size.ts'
import { NO_SPAN } from '#libs/telemetry/span.ts'
import { generationJob } from './generation-job.ts'
import { modelSpec } from './model-spec.ts'

/** Creates a call with realistic values. A test sets only the fields that matter to it. */
export function generationCall(fields: Partial<GenerationCall> = {}): GenerationCall {
  const { request } = { ...generationJob(), ...fields }
  return {
    id: randomUUID(),
    caller: { keyId: 'key-1', accountId: 'account-1', weight: 1, models: null, shortage: null },
    span: NO_SPAN,
    model: modelSpec(),
    request,
    size: sizeOf(request),
    conversation: NO_CONVERSATION,
    session: null,
    maxOutputTokens: null,
    streamed: true,
    isRepeated: false,
    startWaitS: null,
    receivedMs: 0,
    signal: new AbortController().signal,
    ...fields,
  }
}
