import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { OutputFormat, ToolChoice, ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { isConstrained } from '#libs/contracts/request-size.ts'
import { optional } from '../../http/parse-body.ts'
import { shorten } from '../../http/shorten.ts'
import type { CheckSchema } from './check-schema.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { BOOLEAN, TEXT } from './field-texts.ts'
import { JsonSchema } from './json-schema.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { parseDialect } from './parse-dialect.ts'
import { shortText, ShortText } from './short-text.ts'

const CHOICES = 'expected auto, none, required or {"type":"function","function":{"name":…}}'

const FunctionDefinition = z.object(
  {
    name: ShortText.min(1, 'expected a name'),
    description: optional(z.string(TEXT)),
    parameters: optional(JsonSchema),
    strict: optional(z.boolean(BOOLEAN)).meta({
      description: 'True: every call is constrained to the schema.',
    }),
  },
  'expected an object with name, description, parameters and strict',
)

const OtherType = ShortText.meta({ not: { const: 'function' } })

const ToolDialects = z.union([
  z.object({ type: z.literal('function'), function: FunctionDefinition }),
  z.object({ type: z.literal('function'), ...FunctionDefinition.shape }),
  z
    .object({ type: OtherType })
    .meta({ description: 'Another kind of tool: ignored, because the service cannot run it.' }),
])

type OfferedTool = {
  readonly type: string
  /** Null for a tool that is not a function. */
  readonly definition: ToolDefinition | null
  /** The path of the function's parameters within the tool. */
  readonly schemaPath: string
}

/**
 * A function, nested as in chat or flat as in Responses; or a tool of another kind, which some clients add to their
 * functions by default.
 */
const Tool = z
  .looseObject({ type: shortText('expected the type of a tool') }, 'expected a tool')
  .transform((tool, context): OfferedTool => {
    if (tool.type !== 'function') return { type: tool.type, definition: null, schemaPath: '' }
    const read = parseDialect(FunctionDefinition, tool, { nestedUnder: 'function', context })
    if (read === undefined) return z.NEVER
    const { name, description = null, parameters = null, strict } = read
    const schemaPath = tool['function'] == null ? 'parameters' : 'function.parameters'
    const definition = { name, description, parameters, ...(strict !== undefined && { strict }) }
    return { type: tool.type, definition, schemaPath }
  })
  .meta(documentedAs(ToolDialects))

const FunctionName = z.object({ name: ShortText }, CHOICES)

const ChoiceDialects = z.union([
  z.enum(['auto', 'none', 'required']),
  z.object({ type: z.literal('function'), function: FunctionName }),
  z.object({ type: z.literal('function'), ...FunctionName.shape }),
])

const Choice = z
  .union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: ShortText })], CHOICES)
  .transform((choice, context): ToolChoice | { otherType: string } => {
    if (typeof choice === 'string') return choice
    if (choice.type !== 'function') return { otherType: choice.type }
    return parseDialect(FunctionName, choice, { nestedUnder: 'function', context }) ?? z.NEVER
  })
  .meta(documentedAs(ChoiceDialects))

/** The tool fields of chat completions and Responses. */
export const TOOL_FIELDS = {
  tools: optional(listOf(Tool, { expected: 'expected an array of tools' })),
  tool_choice: optional(Choice),
  parallel_tool_calls: optional(z.boolean(BOOLEAN)).meta({ description: 'False: at most one call.' }),
}

const ToolFields = z.object(TOOL_FIELDS)

/** The tool fields of a `ChatRequest`. */
type ToolUse = {
  readonly tools: ToolDefinition[]
  readonly toolChoice: ToolChoice
  readonly parallelToolCalls: boolean
}

/**
 * Tools other than functions are dropped, unless `tool_choice` is `required` and no function remains. Throws an
 * `ApiError` `invalid_request` for tools on a model without tools, for a forced tool that is not offered, and for an
 * invalid schema of a function whose calls are constrained to it.
 */
export function toToolUse(
  fields: z.output<typeof ToolFields>,
  {
    model,
    outputFormat,
    checkSchema,
  }: { model: ModelSpec; outputFormat: OutputFormat; checkSchema: CheckSchema },
): ToolUse {
  const offered = fields.tools ?? []
  if (offered.length > 0 && !model.tools) refuse('tools', `the model '${model.id}' has no tools`)
  const tools = offered.flatMap(({ definition }) => (definition === null ? [] : [definition]))
  const toolChoice = toToolChoice(fields.tool_choice ?? 'auto', tools)
  for (const [index, { definition, schemaPath }] of offered.entries()) {
    if (definition?.parameters == null || !isConstrained(definition, { toolChoice, outputFormat })) continue
    checkSchema(definition.parameters, `tools[${index}].${schemaPath}`)
  }
  return { tools, toolChoice, parallelToolCalls: fields.parallel_tool_calls ?? true }
}

function toToolChoice(
  choice: ToolChoice | { otherType: string },
  tools: readonly ToolDefinition[],
): ToolChoice {
  if (choice === 'auto' || choice === 'none') return choice
  if (choice === 'required') {
    return tools.length > 0 ? choice : refuse('tool_choice', 'required, but no function is offered')
  }
  if ('otherType' in choice) {
    return refuse('tool_choice', `tools of type '${shorten(choice.otherType)}' are not supported; ${CHOICES}`)
  }
  if (tools.some(({ name }) => name === choice.name)) return choice
  return refuse('tool_choice', `no function '${shorten(choice.name)}' is offered`)
}

function refuse(param: string, problem: string): never {
  throw new ApiError('invalid_request', `'${param}': ${problem}.`, { param })
}
