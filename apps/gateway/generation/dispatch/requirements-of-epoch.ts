import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { LONG, LONG_TOKENS, type Requirements } from '#libs/generation-record/requirements.ts'
import { ALONE } from '#libs/generation-record/quarantine.ts'

/**
 * Returns what the first worker must be able to do. A worker that does not know log probabilities would leave them out,
 * and a worker that does not know raw prompts would render them with the chat template. `promptTokens`: the estimated
 * tokens of the prompt.
 */
export function firstRequirements(
  { request }: Pick<GenerationJob, 'request'>,
  promptTokens: number,
): Requirements {
  const hasLogprobs = request.kind === 'chat' && request.topLogprobs !== undefined
  const isRaw = request.kind === 'chat' && request.rawPrompt !== undefined
  const features = [
    request.kind,
    ...(hasLogprobs ? ['logprobs'] : []),
    ...(isRaw ? ['raw-prompt'] : []),
    ...(isLong(request, promptTokens) ? [LONG] : []),
  ]
  return { features, window: 0 }
}

/** An engine has mostly cached the earlier turns of a conversation. If it has not, its worker declines (`run-chat.ts`). */
function isLong(request: GenerationJob['request'], promptTokens: number): boolean {
  if (request.kind !== 'chat' || promptTokens <= LONG_TOKENS) return false
  return !request.messages.some(({ role }) => role === 'assistant')
}

/**
 * Returns what the next worker must be able to do. After a decline with `misfit`, this includes the feature or the
 * size of the context window that the last worker lacked. `isSuspected`: the generation was present at an engine's death.
 */
export function nextRequirements(
  before: Requirements,
  { requirement, continues, isSuspected }: { requirement: string; continues: boolean; isSuspected: boolean },
): Requirements {
  const features = new Set(before.features)
  if (continues) features.add('continue')
  else features.delete('continue')
  // An interrupted generation does not wait for other prompts, because its caller sees a pause.
  features.delete(LONG)
  if (isSuspected) features.add(ALONE)
  const window = /^window:(\d+)$/.exec(requirement)
  if (window !== null) return { features: [...features], window: Math.max(before.window, Number(window[1])) }
  if (requirement !== '') features.add(requirement)
  return { ...before, features: [...features] }
}
