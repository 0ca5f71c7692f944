import { z } from 'zod'
import type { ToolChoice } from '#libs/contracts/generation-request.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { parsePart } from '#libs/http-contract/parse-part.ts'
import { optional } from '../../http/parse-body.ts'
import { BOOLEAN, TEXT } from '../fields/field-texts.ts'
import { JsonSchema } from '../fields/json-schema.ts'
import { ShortText } from '../fields/short-text.ts'
import { Tool as FunctionTool, type OfferedTool } from '../fields/tools.ts'

const OwnTool = z.object(
  {
    type: z.literal('custom').nullish(),
    name: ShortText.min(1, 'expected a name'),
    description: optional(z.string(TEXT)),
    input_schema: optional(JsonSchema),
    strict: optional(z.boolean(BOOLEAN)).meta({
      description: 'True: every call is constrained to the schema.',
    }),
    defer_loading: optional(z.boolean(BOOLEAN)).meta({
      description: 'True: the model does not see the tool until a tool_reference names it.',
    }),
    eager_input_streaming: optional(z.boolean(BOOLEAN)).meta({
      description: 'True: arguments are streamed as they arrive, although they may be invalid JSON.',
    }),
  },
  'expected an object with name, description and input_schema',
)

const OtherTool = z.object({ type: ShortText }).meta({
  description: 'A tool that Anthropic runs or defines: ignored, because the service cannot run it.',
})

/** A tool, with the fields that only this interface has. */
export type MessageTool = OfferedTool & {
  readonly isDeferred: boolean
  readonly isEager: boolean | undefined
}

/** The fields of a tool that the interface cannot defer. */
const SHOWN = { isDeferred: false, isEager: undefined }

/**
 * A tool with a schema, or a function of chat or Responses. Tools of other types are accepted because clients send such
 * tools by default.
 */
const Tool = z
  .looseObject({ type: optional(ShortText) }, 'expected a tool')
  .transform((tool, context): MessageTool => {
    const place = { path: '', schemaField: 'input_schema' } as const
    const { type = 'custom' } = tool
    if (type === 'function') {
      const [read] = parsePart(FunctionTool, tool, { path: [], context }) ?? []
      return read === undefined ? z.NEVER : { ...read, ...SHOWN }
    }
    if (type !== 'custom') return { type, definition: null, ...place, ...SHOWN }
    const read = parsePart(OwnTool, tool, { path: [], context })
    if (read === undefined) return z.NEVER
    const { name, description = null, input_schema: schema, strict, defer_loading: isDeferred = false } = read
    const definition = {
      name,
      description,
      parameters: schema?.value ?? null,
      ...(schema?.text !== undefined && { parametersText: schema.text }),
      ...(strict !== undefined && { strict }),
    }
    return { type, definition, ...place, isDeferred, isEager: read.eager_input_streaming }
  })
  .meta(documentedAs(z.union([OwnTool, OtherTool])))

const PARALLEL = {
  disable_parallel_tool_use: optional(z.boolean(BOOLEAN)).meta({ description: 'True: at most one call.' }),
}

/** A `tool_choice`, with the permission to make several calls. */
type Chosen = { readonly choice: ToolChoice; readonly parallel: boolean }

const Choice = z
  .discriminatedUnion(
    'type',
    [
      z.object({ type: z.enum(['auto', 'any', 'none']), ...PARALLEL }),
      z.object({ type: z.literal('tool'), name: ShortText, ...PARALLEL }),
    ],
    { error: () => 'expected an object whose type is auto, any, tool or none' },
  )
  .transform((given): Chosen => {
    const parallel = given.disable_parallel_tool_use !== true
    if (given.type === 'tool') return { choice: { name: given.name }, parallel }
    return { choice: given.type === 'any' ? 'required' : given.type, parallel }
  })

/** The tool fields of a Messages request. */
export const MESSAGE_TOOL_FIELDS = {
  tools: optional(
    listOf(Tool, { expected: 'expected an array of tools' }).transform((tools) =>
      tools.map((tool, index) => ({ ...tool, path: `tools[${index}].${tool.path}` })),
    ),
  ),
  tool_choice: optional(Choice),
}

/**
 * Returns the tools that the model sees: all but the deferred ones that no search has found and that `tool_choice` does
 * not force. If the request has a search that Anthropic runs, the model sees all tools, because nothing would find the
 * others.
 */
export function withoutDeferred(
  tools: readonly MessageTool[],
  { found, chosen }: { readonly found: readonly string[]; readonly chosen: Chosen | undefined },
): MessageTool[] {
  if (tools.some(({ type }) => type.startsWith('tool_search_tool'))) return [...tools]
  const loaded = new Set(found)
  if (typeof chosen?.choice === 'object') loaded.add(chosen.choice.name)
  return tools.filter(({ isDeferred, definition }) => !isDeferred || loaded.has(definition?.name ?? ''))
}
