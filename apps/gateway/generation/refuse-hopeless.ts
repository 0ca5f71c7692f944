import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import { countPromptBytes } from './estimate-input.ts'

/** No tokenizer in use has a token of more bytes: even runs of blanks are cut at 128. */
const LONGEST_TOKEN_BYTES = 256

/**
 * Refuses what cannot fit the context window however it is tokenized, before it costs anybody anything: a worker
 * would render and tokenize it for seconds, and everything else it runs would stand still. Each message and
 * each tool is at least one token.
 */
export function refuseHopeless(request: GenerationRequest, model: ModelSpec): void {
  const pieces = request.messages.length + request.tools.length
  if (pieces > model.contextWindow || countPromptBytes(request) > model.contextWindow * LONGEST_TOKEN_BYTES) {
    throw new ApiError(
      'invalid_request',
      `The prompt cannot fit the model's context window of ${model.contextWindow} tokens.`,
    )
  }
}
