import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage, ChatRequest } from '#libs/contracts/generation-request.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import type { CatalogModel } from '../../catalog.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { toChoices } from '../fields/choices.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { DIFFER } from '../fields/field-texts.ts'
import { toFormat, toOutputLimit } from '../fields/generation-fields.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toEfforts } from '../fields/reasoning-switches.ts'
import { toSampling, toStop } from '../fields/sampling.ts'
import { toToolUse } from '../fields/tools.ts'
import type { ChatBody, ChatBodyMessage } from './chat-body.ts'

/** The fields of `PreparedGeneration` that the body determines. */
type ChatGeneration = {
  readonly request: ChatRequest
  readonly maxOutputTokens: number | null
}

/**
 * Translates a body. Throws an `ApiError` `invalid_request` for errors that involve several fields or the model, such
 * as tools for a model without tools, a forced tool that is not offered, an invalid schema, two different efforts or
 * formats, or `top_logprobs` without `logprobs`.
 */
export function toGeneration(body: ChatBody, model: CatalogModel): ChatGeneration {
  const { effort, reasoning_effort: reasoningEffort } = body
  const use = noGrammars()
  const checkSchema = createCheckSchema(use)
  const outputFormat = toFormat(body, { checkSchema, use })
  const toolUse = toToolUse(body, { model, outputFormat, checkSchema })
  const logprobs = toLogprobs(body)
  const maxOutputTokens = toOutputLimit(body, {
    ...logprobs,
    stream: body.stream,
    ...toChoices(body),
    model,
  })
  return {
    request: {
      kind: 'chat',
      messages: body.messages.map(toMessage),
      ...toolUse,
      outputFormat,
      sampling: toSampling(body),
      ...logprobs,
      stop: toStop(body),
      reasoningEffort: mergeEfforts({ effort, reasoning_effort: reasoningEffort, ...toEfforts(body) }, model),
      ...toLeastOutput(body, { ...toolUse, outputFormat, maxOutputTokens, model }),
    },
    maxOutputTokens,
  }
}

/** Absent if no log probabilities are requested. Without `logprobs`, a `top_logprobs` of 0 has no effect. */
function toLogprobs(body: ChatBody): Pick<ChatRequest, 'topLogprobs'> {
  const { logprobs = false, top_logprobs: topLogprobs = 0 } = body
  if (logprobs) return { topLogprobs }
  if (topLogprobs === 0) return {}
  throw new ApiError('invalid_request', "'top_logprobs': expected 'logprobs' to be true.", {
    param: 'top_logprobs',
  })
}

function toMessage(message: ChatBodyMessage, index: number): ChatMessage {
  const { role } = message
  if (role === 'assistant') return toAssistant(message, `messages[${index}]`)
  const { content } = message
  if (role === 'tool') return { role, content, toolCallId: message.tool_call_id ?? '' }
  return { role: role === 'user' ? 'user' : 'system', content }
}

function toAssistant(
  message: Extract<ChatBodyMessage, { role: 'assistant' }>,
  path: string,
): Extract<ChatMessage, { role: 'assistant' }> {
  const { content, refusal = '' } = message
  return {
    role: 'assistant',
    content: (content?.text ?? '') + refusal,
    reasoning: mergeReasoning(path, {
      reasoning_content: message.reasoning_content,
      reasoning: message.reasoning,
      content: content?.reasoning,
    }),
    toolCalls: message.tool_calls ?? [],
  }
}

/**
 * Returns the reasoning of a message. `given` has the text of each field that may contain the reasoning, by the field's
 * name. Throws an `ApiError` if two fields have different reasoning.
 */
function mergeReasoning(path: string, given: Readonly<Record<string, string | undefined>>): string {
  const named = Object.entries(given).filter(([, text]) => text !== undefined && text !== '')
  const [first] = named
  const other = named.find(([, text]) => text !== first?.[1])
  if (first !== undefined && other !== undefined) {
    const [param, also] = [`${path}.${first[0]}`, `${path}.${other[0]}`]
    throw new ApiError('invalid_request', `'${param}' and the reasoning in '${also}' ${DIFFER}.`, { param })
  }
  return first?.[1] ?? ''
}
