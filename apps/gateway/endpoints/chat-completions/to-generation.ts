import { ApiError } from '#libs/contracts/api-error.ts'
import type {
  ChatMessage,
  GenerationRequest,
  ReasoningEffort,
  Sampling,
  ToolDefinition,
} from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { ChatBody, ChatBodyMessage } from './chat-body.ts'

/** What a chat completion request asks of the core. */
type ChatGeneration = {
  readonly request: GenerationRequest
  readonly maxOutputTokens: number | null
}

/**
 * Throws an `ApiError` `invalid_request` for tools on a model without them and for two different efforts; every
 * field is right in itself already.
 */
export function toGeneration(body: ChatBody, model: ModelSpec): ChatGeneration {
  const tools = body.tools ?? []
  if (tools.length > 0 && !model.tools) {
    throw new ApiError('invalid_request', `The model '${model.id}' has no tools.`, { param: 'tools' })
  }
  return {
    request: {
      kind: 'chat',
      messages: body.messages.map(toMessage),
      tools: tools.map(toToolDefinition),
      toolChoice: body.tool_choice ?? 'auto',
      sampling: toSampling(body),
      stop: body.stop ?? [],
      reasoningEffort: toEffort(body) ?? model.defaultEffort,
    },
    maxOutputTokens: toMaxOutputTokens(body, model),
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

function toToolDefinition(tool: NonNullable<ChatBody['tools']>[number]): ToolDefinition {
  const { name, description, parameters } = tool.function
  return { name, description: description ?? null, parameters: parameters ?? null }
}

function toSampling(body: ChatBody): Sampling {
  const { seed, top_k: topK } = body
  return {
    temperature: body.temperature,
    topP: body.top_p,
    topK: topK === undefined ? undefined : Math.max(0, topK),
    minP: body.min_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
    repetitionPenalty: body.repetition_penalty,
    // Engines take 31 bits: the same seed always gives the same one, small seeds stay as they are, and -1,
    // which vLLM reads as "no seed", never comes out.
    seed: seed === undefined ? undefined : Number(BigInt.asUintN(31, BigInt(seed))),
    logitBias: body.logit_bias,
  }
}

function toEffort(body: ChatBody): ReasoningEffort | undefined {
  const { effort, reasoning_effort: reasoningEffort } = body
  if (effort !== undefined && reasoningEffort !== undefined && effort !== reasoningEffort) {
    throw new ApiError('invalid_request', `'effort' and 'reasoning_effort' say different things.`, {
      param: 'effort',
    })
  }
  return reasoningEffort ?? effort
}

/** Both aliases given: the answer keeps to both. More than the model can give is clamped, not refused. */
function toMaxOutputTokens(body: ChatBody, model: ModelSpec): number | null {
  const given = [body.max_tokens, body.max_completion_tokens].filter((limit) => limit !== undefined)
  return given.length === 0 ? null : Math.min(...given, model.maxOutputTokens)
}
