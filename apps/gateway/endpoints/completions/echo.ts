import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import { MOST_LISTED } from '../fields/logprobs.ts'
import { STRUCTURED_FIELDS } from '../fields/structured-outputs.ts'
import type { CompletionBody } from './completion-body.ts'

/** Returns the prompt with which the answer begins; no field if the answer has only the output. */
export function toEcho({ echo = false, prompt }: CompletionBody): { echo?: string } {
  if (!echo) return {}
  const [first = '', ...others] = typeof prompt === 'string' ? [prompt] : prompt
  if (others.length > 0) refuse('prompt', "expected one prompt with 'echo': send a request for each prompt")
  return { echo: first }
}

/**
 * Returns how an echoed prompt is tokenized; no field if there is no echo, so that the prompt becomes a chat. The
 * gateway keeps the list of the prompt's log probabilities until it sends them, so the list has the same bound as the
 * list of an output that is not streamed.
 *
 * Throws an `ApiError` `invalid_request` for a field that has no meaning with or without `echo`. With it, several
 * answers are refused because each would repeat the prompt, and an answer in a format is refused because a raw prompt
 * does not show the model where this answer begins.
 */
export function toRawPrompt(
  body: CompletionBody,
  request: Pick<ChatRequest, 'outputFormat' | 'topLogprobs'>,
): Pick<ChatRequest, 'rawPrompt'> {
  const { echo = false, n = 1, max_tokens: limit, add_special_tokens: addsSpecialTokens = echo } = body
  if (!echo) {
    if (addsSpecialTokens) refuse('add_special_tokens', "expected false without 'echo'")
    if (limit === 0) refuse('max_tokens', "expected a whole number of at least 1, or 0 with 'echo'")
    return {}
  }
  if (n > 1) refuse('n', "expected 1 with 'echo'")
  if (request.outputFormat.type !== 'text') refuse(toFormatField(body), "expected no format with 'echo'")
  const { topLogprobs } = request
  return {
    rawPrompt: {
      addsSpecialTokens,
      ...(topLogprobs !== undefined && { mostTokens: Math.floor(MOST_LISTED / (1 + topLogprobs)) }),
    },
  }
}

/** Returns the field that asks for a format. */
function toFormatField(body: CompletionBody): string {
  const given = new Map(Object.entries(body))
  return Object.keys(STRUCTURED_FIELDS).find((field) => given.get(field) !== undefined) ?? 'response_format'
}

function refuse(param: string, problem: string): never {
  throw new ApiError('invalid_request', `'${param}': ${problem}.`, { param })
}
