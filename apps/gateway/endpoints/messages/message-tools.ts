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
  },
  'expected an object with name, description and input_schema',
)

const OtherTool = z.object({ type: ShortText }).meta({
  description: 'A tool that Anthropic runs or defines: ignored, because the service cannot run it.',
})

/** A tool with a schema; or a function of chat or Responses; or a tool of another type, because clients send such tools by default. */
const Tool = z
  .looseObject({ type: optional(ShortText) }, 'expected a tool')
  .transform((tool, context): OfferedTool => {
    const place = { path: '', schemaField: 'input_schema' } as const
    const { type = 'custom' } = tool
    if (type === 'function') return parsePart(FunctionTool, tool, { path: [], context }) ?? z.NEVER
    if (type !== 'custom') return { type, definition: null, ...place }
    const read = parsePart(OwnTool, tool, { path: [], context })
    if (read === undefined) return z.NEVER
    const { name, description = null, input_schema: schema, strict } = read
    const definition = {
      name,
      description,
      parameters: schema?.value ?? null,
      ...(schema?.text !== undefined && { parametersText: schema.text }),
      ...(strict !== undefined && { strict }),
    }
    return { type, definition, ...place }
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
  tools: optional(listOf(Tool, { expected: 'expected an array of tools' })),
  tool_choice: optional(Choice),
}
