import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage, OutputFormat } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { DIFFER } from '../fields/field-texts.ts'
import { toOutputFormat } from '../fields/output-format.ts'
import { toMaxOutputTokens } from '../fields/output-limit.ts'
import { toSampling } from '../fields/sampling.ts'
import { toToolUse } from '../fields/tools.ts'
import type { PreparedGeneration } from '../generation-endpoint.ts'
import type { ResponsesBody } from './responses-body.ts'
import { toMessages } from './to-messages.ts'

/** The fields of `PreparedGeneration` that the body determines. */
export type ResponsesGeneration = Pick<PreparedGeneration<unknown>, 'request' | 'maxOutputTokens'>

/**
 * Throws an `ApiError` `invalid_request` for errors that involve several fields or the model: references that cannot
 * be resolved, tools on a model without tools, a forced tool that is not offered, an invalid schema, a field and an
 * alias with different values.
 */
export function toGeneration(body: ResponsesBody, model: ModelSpec): ResponsesGeneration {
  const effort = mergeEfforts({
    'reasoning.effort': body.reasoning?.effort,
    reasoning_effort: body.reasoning_effort,
  })
  const outputFormat = mergeFormats(body)
  const { max_output_tokens, max_completion_tokens, max_tokens } = body
  return {
    request: {
      kind: 'chat',
      messages: toConversation(body),
      ...toToolUse(body, { model, outputFormat }),
      outputFormat,
      sampling: toSampling(body),
      stop: body.stop ?? [],
      reasoningEffort: effort ?? model.defaultEffort,
    },
    maxOutputTokens: toMaxOutputTokens([max_output_tokens, max_completion_tokens, max_tokens], model),
  }
}

function toConversation({ instructions = '', input }: ResponsesBody): ChatMessage[] {
  const messages = toMessages(input)
  if (messages.length === 0) {
    throw new ApiError('invalid_request', `'input': expected at least one message, call or result.`, {
      param: 'input',
    })
  }
  return instructions === '' ? messages : [{ role: 'system', content: instructions }, ...messages]
}

function mergeFormats({ text, response_format: responseFormat }: ResponsesBody): OutputFormat {
  const format = toOutputFormat(text?.format, 'text.format')
  const other = toOutputFormat(responseFormat, 'response_format')
  if (text?.format === undefined) return other
  if (responseFormat === undefined || isDeepStrictEqual(format, other)) return format
  throw new ApiError('invalid_request', `'text.format' and 'response_format' ${DIFFER}.`, {
    param: 'text.format',
  })
}
