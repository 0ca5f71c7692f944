import type { GenerationJob } from '#libs/contracts/generation-job.ts'
import type { ModelFamily } from '#libs/contracts/model-family.ts'
import type { ChatRenderer } from '#libs/text/render-chat.ts'
import type { Tokenizer } from '#libs/text/tokenizer.ts'

/** A prompt as the engine gets it. */
export type RenderedPrompt = { readonly text: string; readonly ids: Uint32Array }

/**
 * Renders a job's conversation with the model's own chat template and tokenizes it exactly, special tokens
 * of the template included. Throws a ChatTemplateError when the template refuses the conversation.
 */
export function createRenderPrompt(deps: {
  renderer: ChatRenderer
  tokenizer: Pick<Tokenizer, 'encode'>
  family: ModelFamily
}): (job: GenerationJob) => Promise<RenderedPrompt> {
  const { renderer, tokenizer, family } = deps
  return async ({ request }) => {
    const text = renderer.render({
      messages: request.messages,
      tools: request.toolChoice === 'none' ? [] : request.tools,
      // A model that cannot think is not told about it: its template may know no such switch.
      thinking: family.reasoning === 'none' ? null : request.reasoningEffort !== 'off',
    })
    return { text, ids: await tokenizer.encode(text) }
  }
}
