import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { toOutputFormat } from '../fields/output-format.ts'
import { toMaxOutputTokens } from '../fields/output-limit.ts'
import { toSampling } from '../fields/sampling.ts'
import { DEFAULT_MAX_TOKENS, type CompletionBody } from './completion-body.ts'

/** What a legacy completion request asks of the core. */
type CompletionGeneration = {
  readonly request: ChatRequest
  readonly maxOutputTokens: number
}

/** Throws an `ApiError` `invalid_request` for a schema that no output could be held to. */
export function toGeneration(body: CompletionBody, model: ModelSpec): CompletionGeneration {
  return {
    request: {
      kind: 'chat',
      messages: [{ role: 'user', content: toText(body.prompt) }],
      tools: [],
      toolChoice: 'auto',
      parallelToolCalls: true,
      outputFormat: toOutputFormat(body.response_format, 'response_format'),
      sampling: toSampling(body),
      stop: body.stop ?? [],
      // There is no channel for reasoning here, and nobody shall pay for text that nobody can see.
      reasoningEffort: 'off',
    },
    maxOutputTokens:
      toMaxOutputTokens([body.max_tokens], model) ?? Math.min(DEFAULT_MAX_TOKENS, model.maxOutputTokens),
  }
}

function toText(prompt: CompletionBody['prompt']): string {
  return typeof prompt === 'string' ? prompt : prompt.join('\n')
}
