import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import { LONG, LONG_TOKENS, type Needs } from '#libs/generation-record/needs.ts'

/**
 * Returns what the first worker must be able to do. A worker that does not know log probabilities would leave them out,
 * and a worker that does not know raw prompts would render them with the chat template. `computedTokens`: the estimated
 * tokens of the prompt that no engine has computed; 0 if it is not known whether all workers know long prompts.
 */
export function firstNeeds({ request }: Pick<GenerationJob, 'request'>, computedTokens: number): Needs {
  const hasLogprobs = request.kind === 'chat' && request.topLogprobs !== undefined
  const isRaw = request.kind === 'chat' && request.rawPrompt !== undefined
  const features = [
    request.kind,
    ...(hasLogprobs ? ['logprobs'] : []),
    ...(isRaw ? ['raw-prompt'] : []),
    ...(request.kind === 'chat' && computedTokens > LONG_TOKENS ? [LONG] : []),
  ]
  return { features, window: 0 }
}

/**
 * Returns what the next worker must be able to do. After a decline with `misfit`, this includes the feature or the
 * size of the context window that the last worker lacked.
 */
export function nextNeeds(before: Needs, { need, continues }: { need: string; continues: boolean }): Needs {
  const features = new Set(before.features)
  if (continues) features.add('continue')
  else features.delete('continue')
  // An interrupted generation does not wait for other prompts, because its caller sees a pause.
  features.delete(LONG)
  const window = /^window:(\d+)$/.exec(need)
  if (window !== null) return { features: [...features], window: Math.max(before.window, Number(window[1])) }
  if (need !== '') features.add(need)
  return { ...before, features: [...features] }
}
