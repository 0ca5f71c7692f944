import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { LONG, LONG_TOKENS, type Needs } from '#libs/generation-record/needs.ts'
import { ALONE } from '#libs/generation-record/quarantine.ts'

/**
 * Returns what the first worker must be able to do. A worker that does not know log probabilities would leave them out,
 * a worker that does not know raw prompts would render them with the chat template, and a worker that does not know
 * choices would spend the hold of all choices on the one that it runs. `computedTokens`: the estimated tokens of the prompt
 * that no engine has computed; 0 if it is not known whether all workers know long prompts.
 */
export function firstNeeds(
  { request, hold }: Pick<GenerationJob, 'request' | 'hold'>,
  computedTokens: number,
): Needs {
  const hasLogprobs = request.kind === 'chat' && request.topLogprobs !== undefined
  const isRaw = request.kind === 'chat' && request.rawPrompt !== undefined
  const isShared = hold.otherTokens !== undefined
  const features = [
    request.kind,
    ...(hasLogprobs ? ['logprobs'] : []),
    ...(isRaw ? ['raw-prompt'] : []),
    ...(isShared ? ['choices'] : []),
    ...(request.kind === 'chat' && computedTokens > LONG_TOKENS ? [LONG] : []),
  ]
  return { features, window: 0 }
}

/**
 * Returns what the next worker must be able to do. After a decline with `misfit`, this includes the feature or the
 * size of the context window that the last worker lacked. `isSuspected`: the generation was present at an engine's death.
 */
export function nextNeeds(
  before: Needs,
  { need, continues, isSuspected }: { need: string; continues: boolean; isSuspected: boolean },
): Needs {
  const features = new Set(before.features)
  if (continues) features.add('continue')
  else features.delete('continue')
  // An interrupted generation does not wait for other prompts, because its caller sees a pause.
  features.delete(LONG)
  if (isSuspected) features.add(ALONE)
  const window = /^window:(\d+)$/.exec(need)
  if (window !== null) return { features: [...features], window: Math.max(before.window, Number(window[1])) }
  if (need !== '') features.add(need)
  return { ...before, features: [...features] }
}
