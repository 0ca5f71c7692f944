import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { toChoices } from '../fields/choices.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toMostListed } from '../fields/logprobs.ts'
import { toOutputFormat } from '../fields/output-format.ts'
import { toMaxOutputTokens } from '../fields/output-limit.ts'
import { toSampling } from '../fields/sampling.ts'
import { toStructuredFormats } from '../fields/structured-outputs.ts'
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
  const formats = { response_format: body.response_format }
  const checks = { checkSchema: createCheckSchema(use), use }
  const outputFormat = toOutputFormat(formats, toStructuredFormats(body), checks)
  const logprobs = toLogprobs(body)
  const raw = toRawPrompt(body, { outputFormat, ...logprobs })
  const given = toMaxOutputTokens([body.max_tokens], model)
  const most = toMostListed(given, {
    ...logprobs,
    stream: body.stream,
    ...toChoices(body),
    param: 'max_tokens',
  })
  const maxOutputTokens = given ?? Math.min(DEFAULT_MAX_TOKENS, model.maxOutputTokens, most)
  return {
    request: {
      kind: 'chat',
      messages: [{ role: 'user', content: toText(body.prompt) }],
      ...NO_TOOLS,
      outputFormat,
      sampling: toSampling(body),
      ...logprobs,
      ...raw,
      stop: body.stop ?? [],
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
