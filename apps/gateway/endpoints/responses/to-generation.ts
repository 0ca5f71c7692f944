import { ApiError } from '#libs/contracts/api-error.ts'
import type { ChatMessage, ChatRequest } from '#libs/contracts/generation-request.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import type { CatalogModel } from '../../catalog.ts'
import { createCheckSchema } from '../fields/check-schema.ts'
import { mergeEfforts } from '../fields/effort.ts'
import { toFormat, toOutputLimit } from '../fields/generation-fields.ts'
import { toLeastOutput } from '../fields/least-output.ts'
import { toEfforts } from '../fields/reasoning-switches.ts'
import { toSampling, toStop } from '../fields/sampling.ts'
import {
  nameTools,
  toFlatName,
  toSpacedNames,
  toKey,
  type SpacedName,
  type SpacedNames,
} from '../fields/tool-names.ts'
import { placeTool, toToolUse, type OfferedTool } from '../fields/tools.ts'
import type { PreparedGeneration } from '../generation-endpoint.ts'
import { LOGPROBS, type ResponsesBody } from './responses-body.ts'
import type { ReasoningKeys } from './sealed-reasoning.ts'
import { toMessages } from './to-messages.ts'

/** The fields of `PreparedGeneration` that the body determines. */
export type ResponsesGeneration = Pick<PreparedGeneration<unknown>, 'request' | 'maxOutputTokens'> & {
  readonly spacedNames: SpacedNames
}

/**
 * Translates a body. Throws an `ApiError` `invalid_request` for errors that involve several fields or the model, such
 * as references that cannot be resolved, tools for a model without tools, a forced tool that is not offered, an invalid
 * schema, two different efforts or formats, or more output than may have log probabilities.
 */
export function toGeneration(
  body: ResponsesBody,
  model: CatalogModel,
  reasoningKeys?: ReasoningKeys,
): ResponsesGeneration {
  const use = noGrammars()
  const checkSchema = createCheckSchema(use)
  const outputFormat = toFormat(body, { checkSchema, use })
  const tools = nameTools([...(body.tools ?? []), ...toFound(body)])
  const spacedNames = toSpacedNames(tools)
  const toolUse = toToolUse({ ...body, tools }, { model, outputFormat, checkSchema })
  const logprobs = toLogprobs(body)
  const maxOutputTokens = toOutputLimit(body, { ...logprobs, endsWithList: true, model })
  return {
    request: {
      kind: 'chat',
      messages: toConversation(body, { spacedNames, reasoningKeys }),
      ...toolUse,
      outputFormat,
      sampling: toSampling(body),
      ...logprobs,
      stop: toStop(body),
      reasoningEffort: mergeEfforts(toEfforts(body), model),
      ...toLeastOutput(body, { ...toolUse, outputFormat, maxOutputTokens, model }),
    },
    maxOutputTokens,
    spacedNames,
  }
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

/** Absent if no log probabilities are requested. Like OpenAI, the service ignores a `top_logprobs` that stands alone. */
function toLogprobs({
  include = [],
  top_logprobs: topLogprobs = 0,
}: ResponsesBody): Pick<ChatRequest, 'topLogprobs'> {
  return include.includes(LOGPROBS) ? { topLogprobs } : {}
}

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
