import type { ChatJob } from '#libs/contracts/generation-job.ts'
import type { ModelFamily } from '#libs/contracts/model-family.ts'
import { ChatTemplateError, type ChatRenderer } from '#libs/text/render-chat.ts'
import type { Tokenizer } from '#libs/text/tokenizer.ts'

/** A prompt as the engine gets it, and the text behind its last control token that a caller typed as text. */
export type RenderedPrompt = { readonly tail: string; readonly ids: Uint32Array }

/**
 * Renders a job's conversation with the model's own chat template and tokenizes it exactly: the template's
 * special tokens become their ids, those that a caller types stay text. Throws a ChatTemplateError when the
 * template refuses the conversation, and when the tokenizer finds a control token that nobody wrote (one whose
 * normalizer makes a token's text of other characters).
 */
export function createRenderPrompt(deps: {
  renderer: ChatRenderer
  tokenizer: Pick<Tokenizer, 'encodePieces'>
  family: ModelFamily
}): (job: ChatJob) => Promise<RenderedPrompt> {
  const { renderer, tokenizer, family } = deps
  return async ({ request }) => {
    const pieces = renderer.render({
      messages: request.messages,
      tools: request.toolChoice === 'none' ? [] : request.tools,
      // A model that cannot think is not told about it: its template may know no such switch.
      thinking: family.reasoning === 'none' ? null : request.reasoningEffort !== 'off',
    })
    const ids = await tokenizer.encodePieces(pieces)
    if (renderer.isForged(pieces, ids)) {
      throw new ChatTemplateError('the messages hold characters that this model reads as control tokens')
    }
    return { tail: pieces.at(-1) ?? '', ids }
  }
}
