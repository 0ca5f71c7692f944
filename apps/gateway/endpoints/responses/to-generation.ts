import { isDeepStrictEqual } from 'node:util'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage, OutputFormat } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { createCheckSchema, type CheckSchema } from '../fields/check-schema.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { DIFFER } from '../fields/field-texts.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toOutputFormat, withoutName } from '../fields/output-format.ts'
import { toMaxOutputTokens } from '../fields/output-limit.ts'
import { toSwitches } from '../fields/reasoning-switches.ts'
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
  const efforts = { ...toSwitches(body), reasoning_effort: body.reasoning_effort }
  const checkSchema = createCheckSchema()
  const outputFormat = mergeFormats(body, checkSchema)
  const toolUse = toToolUse(body, { model, outputFormat, checkSchema })
  const { max_output_tokens, max_completion_tokens, max_tokens } = body
  const maxOutputTokens = toMaxOutputTokens([max_output_tokens, max_completion_tokens, max_tokens], model)
  return {
    request: {
      kind: 'chat',
      messages: toConversation(body),
      ...toolUse,
      outputFormat,
      sampling: toSampling(body),
      stop: body.stop ?? [],
      reasoningEffort: mergeEfforts(efforts, model),
      ...toLeastOutput(body, { ...toolUse, outputFormat, maxOutputTokens, model }),
    },
    maxOutputTokens,
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

/** The formats are compared without the names of their schemas, which change no output. */
function mergeFormats(
  { text, response_format: responseFormat }: ResponsesBody,
  checkSchema: CheckSchema,
): OutputFormat {
  if (text?.format === undefined) return toOutputFormat(responseFormat, 'response_format', checkSchema)
  const format = toOutputFormat(text.format, 'text.format', checkSchema)
  if (responseFormat === undefined || isDeepStrictEqual(format, withoutName(responseFormat))) return format
  throw new ApiError('invalid_request', `'text.format' and 'response_format' ${DIFFER}.`, {
    param: 'text.format',
  })
}
