import { ApiError } from '#libs/contracts/api-error.ts'
import type { CatalogModel } from '../../catalog.ts'
import { toEfforts } from '../fields/reasoning-switches.ts'
import { toRequest } from '../fields/to-request.ts'
import { withoutDeferred } from './message-tools.ts'
import type { MessageCountBody, MessagesBody } from './messages-body.ts'
import { toEffort } from './thinking.ts'
import { toConversation } from './to-conversation.ts'

type Generation = ReturnType<typeof toRequest>

/** Translates a body. Throws the errors of `toPrompt`, and an `ApiError` if the last message is of the assistant. */
export function toGeneration(body: MessagesBody, model: CatalogModel): Generation {
  refuseEndByAssistant(body)
  return toPrompt(body, model)
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

/** Translates a body, whose conversation may end with a message of any role. Throws the errors of `toRequest`. */
export function toPrompt(body: MessageCountBody, model: CatalogModel): Generation {
  const { tool_choice: chosen, thinking, output_config: config } = body
  const found = body.messages.flatMap(({ content }) => content.flatMap((block) => block.found ?? []))
  const tools = withoutDeferred(body.tools ?? [], { found, chosen })
  const isSingle = [chosen?.parallel, body.parallel_tool_calls].includes(false)
  const otherEfforts = toEfforts({ ...body, thinking: undefined, output_config: undefined })
  return toRequest(body, {
    model,
    tools: { tools, tool_choice: chosen?.choice, parallel_tool_calls: !isSingle },
    efforts: { ...otherEfforts, thinking: toEffort(thinking, config?.effort) },
    toMessages: () => toConversation(body),
  })
}
