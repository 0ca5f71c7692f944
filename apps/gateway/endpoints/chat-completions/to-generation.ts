import type { ChatMessage, ChatRequest } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toOutputFormat } from '../fields/output-format.ts'
import { toMaxOutputTokens } from '../fields/output-limit.ts'
import { toSwitches } from '../fields/reasoning-switches.ts'
import { toSampling } from '../fields/sampling.ts'
import { toStructuredFormats } from '../fields/structured-outputs.ts'
import { toToolUse } from '../fields/tools.ts'
import type { ChatBody, ChatBodyMessage } from './chat-body.ts'

/** The fields of `PreparedGeneration` that the body determines. */
type ChatGeneration = {
  readonly request: ChatRequest
  readonly maxOutputTokens: number | null
}

/**
 * Throws an `ApiError` `invalid_request` for errors that involve several fields or the model: tools on a model
 * without tools, a forced tool that is not offered, an invalid schema, two different efforts.
 */
export function toGeneration(body: ChatBody, model: ModelSpec): ChatGeneration {
  const { effort, reasoning_effort: reasoningEffort } = body
  const use = noGrammars()
  const checkSchema = createCheckSchema(use)
  const formats = { response_format: body.response_format }
  const outputFormat = toOutputFormat(formats, toStructuredFormats(body), { checkSchema, use })
  const toolUse = toToolUse(body, { model, outputFormat, checkSchema })
  const maxOutputTokens = toMaxOutputTokens([body.max_tokens, body.max_completion_tokens], model)
  return {
    request: {
      kind: 'chat',
      messages: body.messages.map(toMessage),
      ...toolUse,
      outputFormat,
      sampling: toSampling(body),
      stop: body.stop ?? [],
      reasoningEffort: mergeEfforts(
        { effort, reasoning_effort: reasoningEffort, ...toSwitches(body) },
        model,
      ),
      ...toLeastOutput(body, { ...toolUse, outputFormat, maxOutputTokens, model }),
    },
    maxOutputTokens,
  }
}

function toMessage(message: ChatBodyMessage): ChatMessage {
  const { role, content } = message
  if (role === 'tool') return { role, content, toolCallId: message.tool_call_id ?? '' }
  if (role === 'assistant') {
    return {
      role,
      content: content ?? '',
      reasoning: message.reasoning_content ?? '',
      toolCalls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
        id,
        name,
        arguments: text,
      })),
    }
  }
  return { role: role === 'user' ? 'user' : 'system', content }
}
