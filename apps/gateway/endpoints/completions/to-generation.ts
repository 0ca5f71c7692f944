import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { toChoices } from '../fields/choices.ts'
import { toFormat, toOutputLimit } from '../fields/generation-fields.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toSampling, toStop } from '../fields/sampling.ts'
import { DEFAULT_MAX_TOKENS, type CompletionBody } from './completion-body.ts'
import { toTopLogprobs } from './completion-logprobs.ts'
import { toRawPrompt } from './echo.ts'

/** The fields of `PreparedGeneration` that the body determines. */
type CompletionGeneration = {
  readonly request: ChatRequest
  readonly maxOutputTokens: number
}

/** Translates a body. Throws an `ApiError` `invalid_request` for a schema to which the output cannot be constrained. */
export function toGeneration(body: CompletionBody, model: ModelSpec): CompletionGeneration {
  const use = noGrammars()
  const outputFormat = toFormat(body, { checkSchema: createCheckSchema(use), use })
  const logprobs = toLogprobs(body)
  const raw = toRawPrompt(body, { outputFormat, ...logprobs })
  const listed = { ...logprobs, stream: body.stream, ...toChoices(body), model }
  const { max_tokens, max_completion_tokens, max_output_tokens } = body
  const isLimited = [max_tokens, max_completion_tokens, max_output_tokens].some(
    (limit) => limit !== undefined,
  )
  const limit = toOutputLimit(body, listed) ?? model.maxOutputTokens
  const maxOutputTokens = isLimited ? limit : Math.min(DEFAULT_MAX_TOKENS, limit)
  return {
    request: {
      kind: 'chat',
      messages: [{ role: 'user', content: toText(body.prompt) }],
      ...NO_TOOLS,
      outputFormat,
      sampling: toSampling(body),
      ...logprobs,
      ...raw,
      stop: toStop(body),
      // A legacy completion cannot return reasoning, and callers do not pay for text that they do not receive.
      reasoningEffort: 'off',
      ...toLeastOutput(body, { ...NO_TOOLS, outputFormat, maxOutputTokens, model }),
    },
    maxOutputTokens,
  }
}

/** Returns how many tokens each entry of the log probabilities lists; null if there are none. */
export function toLogprobCount({ logprobs = false }: CompletionBody): number | null {
  return logprobs === false ? null : logprobs
}

function toLogprobs(body: CompletionBody): Pick<ChatRequest, 'topLogprobs'> {
  const count = toLogprobCount(body)
  return count === null ? {} : { topLogprobs: toTopLogprobs(count) }
}

const NO_TOOLS = { tools: [], toolChoice: 'auto', parallelToolCalls: true } satisfies Partial<ChatRequest>

function toText(prompt: CompletionBody['prompt']): string {
  return typeof prompt === 'string' ? prompt : prompt.join('\n')
}
