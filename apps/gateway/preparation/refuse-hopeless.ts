import { ApiError } from '#libs/contracts/api-error.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import { countInputBytes, countPromptBytes } from '../generation/estimate-input.ts'

/** No tokenizer in use has a token of more bytes: even runs of blanks are cut at 128. */
const LONGEST_TOKEN_BYTES = 256

/**
 * Refuses what cannot fit the context window however it is tokenized, before it costs anybody anything: a worker
 * would render and tokenize it for seconds, and everything else it runs would stand still. Each message and
 * each tool is at least one token; inputs to embed have the window each for itself.
 */
export function refuseHopeless(request: GenerationRequest, { contextWindow }: ModelSpec): void {
  const mostBytes = contextWindow * LONGEST_TOKEN_BYTES
  if (request.kind === 'embedding') {
    const hopeless = request.inputs.findIndex((input) => countInputBytes(input) > mostBytes)
    if (hopeless >= 0) refuse(`The input at index ${hopeless}`, contextWindow)
    return
  }
  const pieces = request.messages.length + request.tools.length
  if (pieces > contextWindow || countPromptBytes(request) > mostBytes) refuse('The prompt', contextWindow)
}

function refuse(what: string, contextWindow: number): never {
  throw new ApiError(
    'invalid_request',
    // LangChain knows an overflow by the words `exceeds the context window`.
    `${what} exceeds the context window of ${contextWindow} tokens.`,
  )
}
