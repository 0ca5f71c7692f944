import type { ChatRequest } from '#libs/contracts/generation-request.ts'

/** Whether the output is over with its first call: by the caller's wish, or because one named call was asked for. */
export function allowsOneCall({
  toolChoice,
  parallelToolCalls,
}: Pick<ChatRequest, 'toolChoice' | 'parallelToolCalls'>): boolean {
  return !parallelToolCalls || typeof toolChoice === 'object'
}
