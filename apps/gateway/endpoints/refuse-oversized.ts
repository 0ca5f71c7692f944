import { ApiError } from '#libs/contracts/api-error.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import type { GenerationRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { RequestSize } from '#libs/contracts/request-size.ts'
import { textBytes } from '#libs/contracts/text-size.ts'

/** No tokenizer in use has a longer token. Even tokens for runs of spaces have at most 128 bytes. */
const LONGEST_TOKEN_BYTES = 256

/**
 * The most bytes per token of a prompt that is counted without a generation. Text and code have 2 to 6 bytes per token,
 * so a prompt with more bytes exceeds the context window. A count is free, so this is not found out by tokenizing.
 */
export const LONGEST_COUNTED_BYTES = 32

/**
 * Throws an `ApiError` `context_length_exceeded` for a prompt that cannot fit the context window, however it is
 * tokenized. Without this check a worker would render and tokenize the prompt for seconds, while its other generations
 * wait. Each message and each tool counts as at least one token. Text that the template leaves out of the prompt counts
 * as well, because this text too is compressed, sent to the worker and decompressed. Each input of an embeddings
 * request has a context window of its own.
 */
export function refuseOversized(
  request: GenerationRequest,
  { bytes, tokenBytes = LONGEST_TOKEN_BYTES }: Pick<RequestSize, 'bytes'> & { readonly tokenBytes?: number },
  { contextWindow }: ModelSpec,
): void {
  const least = (size: number) => ({ contextWindow, tokens: Math.ceil(size / tokenBytes), isLeast: true })
  if (request.kind === 'embedding') {
    const oversized = request.inputs.findIndex((input) => least(textBytes(input)).tokens > contextWindow)
    if (oversized < 0) return
    const overflow = {
      ...least(textBytes(request.inputs[oversized] ?? '')),
      subject: `input at index ${oversized}`,
    }
    throw new ApiError('context_length_exceeded', toOverflowMessage(overflow), {
      param: `input[${oversized}]`,
    })
  }
  const { tokens, ...bound } = least(bytes)
  const most = Math.max(tokens, request.messages.length + request.tools.length)
  if (most > contextWindow) {
    throw new ApiError('context_length_exceeded', toOverflowMessage({ ...bound, tokens: most }))
  }
}
