import type { ChatMessage, ChatRequest } from '#libs/contracts/generation-request.ts'
import { noGrammars } from '#libs/json-schema/limits.ts'
import type { CatalogModel } from '../../catalog.ts'
import { createCheckSchema } from './check-schema.ts'
import { mergeEfforts, type GivenEfforts } from './effort.ts'
import { toFormat, toOutputLimit } from './generation-fields.ts'
import { toLeastOutput } from './least-output.ts'
import { toSampling, toStop } from './sampling.ts'
import { toToolUse } from './tools.ts'

type Fields = Parameters<typeof toFormat>[0] &
  Parameters<typeof toOutputLimit>[0] &
  Parameters<typeof toLeastOutput>[0] &
  Parameters<typeof toSampling>[0]

/** The parts of a request that the interfaces write in different ways. */
type OwnParts = {
  readonly model: CatalogModel
  readonly tools: Parameters<typeof toToolUse>[0]
  readonly efforts: GivenEfforts
  readonly toMessages: () => ChatMessage[]
  readonly topLogprobs?: number | undefined
} & Pick<Parameters<typeof toOutputLimit>[1], 'stream' | 'endsWithList' | 'choices'>

/**
 * Returns the request of a chat interface, and the caller's own limit of the output. Throws an `ApiError`
 * `invalid_request` for errors that involve several fields or the model, such as tools for a model without tools, a
 * forced tool that is not offered, an invalid schema, or two different efforts or formats.
 */
export function toRequest(
  body: Fields,
  { model, tools, efforts, toMessages, topLogprobs, ...listed }: OwnParts,
): { readonly request: ChatRequest; readonly maxOutputTokens: number | null } {
  const use = noGrammars()
  const checkSchema = createCheckSchema(use)
  const outputFormat = toFormat(body, { checkSchema, use })
  const toolUse = toToolUse(tools, { model, outputFormat, checkSchema })
  const maxOutputTokens = toOutputLimit(body, { ...listed, topLogprobs, model })
  return {
    request: {
      kind: 'chat',
      messages: toMessages(),
      ...toolUse,
      outputFormat,
      sampling: toSampling(body),
      ...(topLogprobs !== undefined && { topLogprobs }),
      stop: toStop(body),
      reasoningEffort: mergeEfforts(efforts, model),
      ...toLeastOutput(body, { ...toolUse, outputFormat, maxOutputTokens, model }),
    },
    maxOutputTokens,
  }
}
