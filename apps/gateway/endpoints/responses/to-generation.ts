import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import type { CatalogModel } from '../../catalog.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toOutputFormat } from '../fields/output-format.ts'
import { toMaxOutputTokens } from '../fields/output-limit.ts'
import { toSwitches } from '../fields/reasoning-switches.ts'
import { toSampling } from '../fields/sampling.ts'
import { toStructuredFormats } from '../fields/structured-outputs.ts'
import { toToolUse } from '../fields/tools.ts'
import type { PreparedGeneration } from '../generation-endpoint.ts'
import type { ResponsesBody } from './responses-body.ts'
import { toMessages } from './to-messages.ts'

/** The fields of `PreparedGeneration` that the body determines. */
export type ResponsesGeneration = Pick<PreparedGeneration<unknown>, 'request' | 'maxOutputTokens'>

/**
 * Translates a body. Throws an `ApiError` `invalid_request` for errors that involve several fields or the model, such
 * as references that cannot be resolved, tools for a model without tools, a forced tool that is not offered, an invalid
 * schema, or two different efforts or formats.
 */
export function toGeneration(body: ResponsesBody, model: CatalogModel): ResponsesGeneration {
  const efforts = { ...toSwitches(body), reasoning_effort: body.reasoning_effort }
  const use = noGrammars()
  const checkSchema = createCheckSchema(use)
  const formats = { 'text.format': body.text?.format, response_format: body.response_format }
  const outputFormat = toOutputFormat(formats, toStructuredFormats(body), { checkSchema, use })
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
