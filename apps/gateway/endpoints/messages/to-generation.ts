import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import type { CatalogModel } from '../../catalog.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { toFormat, toOutputLimit } from '../fields/generation-fields.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toEfforts } from '../fields/reasoning-switches.ts'
import { toSampling, toStop } from '../fields/sampling.ts'
import { toToolUse } from '../fields/tools.ts'
import type { PreparedGeneration } from '../generation-endpoint.ts'
import { withoutDeferred } from './message-tools.ts'
import type { MessageCountBody, MessagesBody } from './messages-body.ts'
import { toEffort } from './thinking.ts'
import { toConversation } from './to-conversation.ts'

/**
 * Translates a body. Throws an `ApiError` `invalid_request` for errors that involve several fields or the model, such
 * as a conversation that ends with a message of the assistant, tools for a model without tools, a forced tool that is
 * not offered, or an invalid schema.
 */
export function toGeneration(
  body: MessagesBody,
  model: CatalogModel,
): Pick<PreparedGeneration<unknown>, 'request' | 'maxOutputTokens'> {
  refuseEndByAssistant(body)
  const prompt = toPrompt(body, model)
  const maxOutputTokens = toOutputLimit(body, { model })
  return {
    request: {
      ...prompt,
      sampling: toSampling(body),
      stop: toStop(body),
      ...toLeastOutput(body, { ...prompt, maxOutputTokens, model }),
    },
    maxOutputTokens,
  }
}

/** Templates end the last message, so the model would begin another one instead of continuing it. */
function refuseEndByAssistant({ messages }: MessagesBody): void {
  if (messages.at(-1)?.role !== 'assistant') return
  const param = `messages[${messages.length - 1}]`
  throw new ApiError(
    'invalid_request',
    `'${param}': this service does not continue a message of the assistant: ` +
      'end the conversation with a message of role user.',
    { param },
  )
}

/** Translates the fields that make the prompt. Throws the errors of `toGeneration`. */
export function toPrompt(
  body: MessageCountBody,
  model: CatalogModel,
): Omit<ChatRequest, 'sampling' | 'stop'> {
  const use = noGrammars()
  const checkSchema = createCheckSchema(use)
  const outputFormat = toFormat(body, { checkSchema, use })
  const { tool_choice: chosen, thinking, output_config: config } = body
  const found = body.messages.flatMap(({ content }) => content.flatMap((block) => block.found ?? []))
  const tools = withoutDeferred(body.tools ?? [], { found, chosen })
  const isSingle = [chosen?.parallel, body.parallel_tool_calls].includes(false)
  const fields = { tools, tool_choice: chosen?.choice, parallel_tool_calls: !isSingle }
  const otherEfforts = toEfforts({ ...body, thinking: undefined, output_config: undefined })
  return {
    kind: 'chat',
    messages: toConversation(body),
    ...toToolUse(fields, { model, outputFormat, checkSchema }),
    outputFormat,
    reasoningEffort: mergeEfforts({ ...otherEfforts, thinking: toEffort(thinking, config?.effort) }, model),
  }
}
