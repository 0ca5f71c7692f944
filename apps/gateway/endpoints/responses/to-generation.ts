import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage } from '#libs/contracts/generation-request.ts'
import type { CatalogModel } from '../../catalog.ts'
import { toEfforts } from '../fields/reasoning-switches.ts'
import { toRequest } from '../fields/to-request.ts'
import {
  nameTools,
  toFlatName,
  toSpacedNames,
  toKey,
  type SpacedName,
  type SpacedNames,
} from '../fields/tool-names.ts'
import { placeTool, type OfferedTool } from '../fields/tools.ts'
import { LOGPROBS, type ResponsesBody } from './responses-body.ts'
import type { ReasoningKeys } from './sealed-reasoning.ts'
import { toMessages } from './to-messages.ts'

/** The fields of `PreparedGeneration` that the body determines. */
export type ResponsesGeneration = ReturnType<typeof toRequest> & {
  readonly spacedNames: SpacedNames
}

/** Translates a body. Throws the errors of `toRequest`, and an `ApiError` for references that cannot be resolved. */
export function toGeneration(
  body: ResponsesBody,
  model: CatalogModel,
  reasoningKeys?: ReasoningKeys,
): ResponsesGeneration {
  const tools = nameTools([...(body.tools ?? []), ...toFound(body)])
  const spacedNames = toSpacedNames(tools)
  const generation = toRequest(body, {
    model,
    tools: { ...body, tools },
    efforts: toEfforts(body),
    toMessages: () => toConversation(body, { spacedNames, reasoningKeys }),
    // Like OpenAI, the service ignores a `top_logprobs` that stands alone.
    topLogprobs: body.include?.includes(LOGPROBS) === true ? (body.top_logprobs ?? 0) : undefined,
    endsWithList: true,
  })
  return { ...generation, spacedNames }
}

/** Returns the tools that a search has found and that are not offered otherwise. */
function toFound({ tools = [], input }: ResponsesBody): OfferedTool[] {
  const known = new Set(tools.map(keyOf))
  return input.flatMap((item, index) => {
    if (item.type !== 'tool_search_output') return []
    const fresh = item.tools.filter((tool) => !known.has(keyOf(tool)) && known.add(keyOf(tool)))
    return fresh.map((tool) => placeTool(tool, `input[${index}].`))
  })
}

const keyOf = ({ definition, spaced }: OfferedTool): string => toKey(spaced ?? { name: definition?.name })

function toConversation(
  { instructions = '', input }: ResponsesBody,
  { spacedNames, reasoningKeys }: { spacedNames: SpacedNames; reasoningKeys: ReasoningKeys | undefined },
): ChatMessage[] {
  const names = new Map(Array.from(spacedNames, ([flat, spaced]) => [toKey(spaced), flat]))
  const nameOf = (spaced: SpacedName) => names.get(toKey(spaced)) ?? toFlatName(spaced)
  const messages = toMessages(input, { nameOf, keys: reasoningKeys })
  if (messages.length === 0) {
    throw new ApiError('invalid_request', `'input': expected at least one message, call or result.`, {
      param: 'input',
    })
  }
  return instructions === '' ? messages : [{ role: 'system', content: instructions }, ...messages]
}
