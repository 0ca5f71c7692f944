import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { OutputFormat, ToolChoice, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { isConstrained } from '#libs/contracts/request-size.ts'
import { checkToolName } from '#libs/dialect/check-tool-name.ts'
import type { CatalogModel } from '../../catalog.ts'
import { optional } from '../../http/parse-body.ts'
import { shorten } from '../../http/shorten.ts'
import type { CheckSchema } from './check-schema.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { BOOLEAN, TEXT } from './field-texts.ts'
import { JsonSchema } from './json-schema.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { parsePart } from '#libs/http-contract/parse-part.ts'
import { parseEitherForm } from './parse-either-form.ts'
import { shortText, ShortText } from './short-text.ts'
import {
  createFindTools,
  nameTools,
  toFlatName,
  type FindTools,
  type SpacedName,
  type WantedTool,
} from './tool-names.ts'

const CHOICES = 'expected auto, none, required or {"type":"function","function":{"name":…}}'

export const FunctionDefinition = z.object(
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

const ToolForms = z.union([
  z.object({ type: z.literal('function'), function: FunctionDefinition }),
  z.object({ type: z.literal('function'), ...FunctionDefinition.shape }),
  z.object({
    type: z.literal('namespace'),
    name: ShortText,
    tools: z.array(z.looseObject({ type: ShortText })),
  }),
  z
    .object({ type: OtherType })
    .meta({ description: 'Another kind of tool: ignored, because the service cannot run it.' }),
])

export type OfferedTool = {
  readonly type: string
  /** Null for a tool that is not a function. */
  readonly definition: ToolDefinition | null
  /** The path of the definition's fields within the body, such as `tools[0].function.`. */
  readonly path: string
  /** The name of the field that has the schema. */
  readonly schemaField: 'parameters' | 'input_schema'
  /** Present if the function is in a name space. `nameTools` gives its definition the name that the model sees. */
  readonly spaced?: SpacedName
}

const NameSpace = z.object({
  name: ShortText.min(1, 'expected a name'),
  description: optional(z.string(TEXT)),
  tools: z.lazy(() => ToolList),
})

/**
 * Accepts a function, nested as in chat or flat as in Responses, or a name space with functions. Also accepts tools of
 * other types, because some clients send them by default; `toToolUse` drops them.
 */
export const Tool = z
  .looseObject({ type: shortText('expected the type of a tool') }, 'expected a tool')
  .transform((tool, context): readonly OfferedTool[] => {
    if (tool['input_schema'] !== undefined) {
      context.addIssue({
        code: 'custom',
        message: 'expected a function with parameters',
        path: ['input_schema'],
      })
      return z.NEVER
    }
    if (tool.type === 'namespace') {
      const space = parsePart(NameSpace, tool, { path: [], context })
      return space?.tools.map((inner) => inSpace(space, inner)) ?? z.NEVER
    }
    if (tool.type !== 'function')
      return [{ type: tool.type, definition: null, path: '', schemaField: 'parameters' }]
    const read = parseEitherForm(FunctionDefinition, tool, { nestedUnder: 'function', context })
    if (read === undefined) return z.NEVER
    const path = tool['function'] == null ? '' : 'function.'
    return [{ type: tool.type, definition: toDefinition(read), path, schemaField: 'parameters' }]
  })
  .meta(documentedAs(ToolForms))

export function toDefinition(given: z.output<typeof FunctionDefinition>): ToolDefinition {
  const { name, description = null, parameters, strict } = given
  return {
    name,
    description,
    parameters: parameters?.value ?? null,
    ...(parameters?.text !== undefined && { parametersText: parameters.text }),
    ...(strict !== undefined && { strict }),
  }
}

function inSpace({ name, description }: z.output<typeof NameSpace>, tool: OfferedTool): OfferedTool {
  const { definition, spaced } = tool
  if (definition === null) return tool
  const namespace = spaced === undefined ? name : toFlatName({ namespace: name, name: spaced.namespace })
  return { ...tool, spaced: { namespace, name: spaced?.name ?? definition.name, description } }
}

/** Tools, with those in name spaces. */
export const ToolList: z.ZodType<OfferedTool[]> = listOf(Tool, {
  expected: 'expected an array of tools',
}).transform((lists) =>
  lists.flatMap((tools, index) => tools.map((tool) => placeTool(tool, `tools[${index}].`))),
)

/** Returns a tool whose `path` is relative to the parent of `place`. */
export const placeTool = (tool: OfferedTool, place: string): OfferedTool => ({
  ...tool,
  path: place + tool.path,
})

const FunctionName = z.object({ name: ShortText, namespace: optional(ShortText) }, CHOICES)
const NestedName = z.object({ type: z.literal('function'), function: FunctionName })
const FlatName = z.object({ type: z.literal('function'), ...FunctionName.shape })

const CHOICE_MODES = z.enum(['auto', 'none', 'required', 'any'])

/** Tools of other types are ignored here, as they are in `tools`. */
const AllowedTool = z
  .looseObject({ type: shortText('expected the type of a tool') }, 'expected a tool')
  .transform((tool, context): WantedTool | null => {
    if (tool.type !== 'function' && tool.type !== 'namespace') return null
    const read = parseEitherForm(FunctionName, tool, { nestedUnder: tool.type, context }) ?? z.NEVER
    return tool.type === 'function' ? read : { namespace: read.name }
  })
  .meta(documentedAs(z.union([NestedName, FlatName, z.object({ type: OtherType })])))

const AllowedTools = z.object(
  {
    mode: z.enum(['auto', 'required'], 'expected auto or required'),
    tools: listOf(AllowedTool, { expected: 'expected an array of tools' }),
  },
  'expected an object with mode and tools',
)

const ChoiceForms = z.union([
  CHOICE_MODES,
  NestedName,
  FlatName,
  z.object({ type: z.literal('allowed_tools'), allowed_tools: AllowedTools }),
  z.object({ type: z.literal('allowed_tools'), ...AllowedTools.shape }),
])

/** `allowed`: the offered functions that may be called. */
type WantedChoice =
  | 'auto'
  | 'none'
  | 'required'
  | WantedTool
  | { readonly otherType: string }
  | { readonly mode: 'auto' | 'required'; readonly allowed: readonly WantedTool[] }

/** `any` is Mistral's name for `required`. */
const Choice = z
  .union([CHOICE_MODES, z.looseObject({ type: ShortText })], CHOICES)
  .transform((choice, context): WantedChoice => {
    if (typeof choice === 'string') return choice === 'any' ? 'required' : choice
    if (choice.type === 'function') {
      return parseEitherForm(FunctionName, choice, { nestedUnder: 'function', context }) ?? z.NEVER
    }
    if (choice.type !== 'allowed_tools') return { otherType: choice.type }
    const read = parseEitherForm(AllowedTools, choice, { nestedUnder: 'allowed_tools', context })
    if (read === undefined) return z.NEVER
    return { mode: read.mode, allowed: read.tools.filter((tool) => tool !== null) }
  })
  .meta(documentedAs(ChoiceForms))

/** The tool fields of chat completions and Responses. */
export const TOOL_FIELDS = {
  tools: optional(ToolList),
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
 * Returns the tools of a request. Tools other than functions are dropped. Throws an `ApiError` `invalid_request`
 * - if `tool_choice` is `required` and no function remains,
 * - if there are tools but the model does not support tools,
 * - if `tool_choice` forces or allows a tool that is not offered,
 * - if the model cannot write the name of a function, or
 * - if calls are constrained to a function's schema and the schema is invalid.
 */
export function toToolUse(
  fields: z.output<typeof ToolFields>,
  {
    model,
    outputFormat,
    checkSchema,
  }: { model: CatalogModel; outputFormat: OutputFormat; checkSchema: CheckSchema },
): ToolUse {
  const offered = nameTools(fields.tools ?? [])
  if (offered.length > 0 && !model.tools) refuse('tools', `the model '${model.id}' has no tools`)
  const choice = fields.tool_choice ?? 'auto'
  const all = offered.flatMap(({ definition }) => (definition === null ? [] : [definition]))
  const find = createFindTools(offered)
  const tools = typeof choice === 'object' && 'allowed' in choice ? toAllowed(choice.allowed, all, find) : all
  const toolChoice = toToolChoice(choice, tools, find)
  const remaining = new Set(tools)
  for (const { definition, path, schemaField } of offered) {
    if (definition === null || !remaining.has(definition)) continue
    if (toolChoice !== 'none') checkName(definition.name, `${path}name`, model)
    if (definition.parameters === null || !isConstrained(definition, { toolChoice, outputFormat })) continue
    checkSchema(definition.parameters, `${path}${schemaField}`, definition.parametersText)
  }
  return { tools, toolChoice, parallelToolCalls: fields.parallel_tool_calls ?? true }
}

/**
 * Refuses a tool in two cases: the model cannot write the tool's name, or the calls that the model writes could not be
 * read. In both cases the tool would never be called.
 */
function checkName(name: string, param: string, { callFormat }: CatalogModel): void {
  const problem = callFormat === undefined ? null : checkToolName(callFormat, name)
  if (problem === null) return
  refuse(param, `this model cannot call a tool named '${shorten(name)}'; ${problem}`)
}

/** Returns the allowed tools, so that the model sees only the tools that it may call. */
function toAllowed(
  allowed: readonly WantedTool[],
  tools: readonly ToolDefinition[],
  find: FindTools,
): ToolDefinition[] {
  const wanted = new Set(allowed.flatMap((tool) => findOffered(tool, find)))
  return tools.filter((tool) => wanted.has(tool))
}

function toToolChoice(choice: WantedChoice, tools: readonly ToolDefinition[], find: FindTools): ToolChoice {
  if (typeof choice === 'object' && 'allowed' in choice) return toToolChoice(choice.mode, tools, find)
  if (choice === 'auto' || choice === 'none') return choice
  if (choice === 'required') {
    return tools.length > 0 ? choice : refuse('tool_choice', 'required, but no function is offered')
  }
  if ('otherType' in choice) {
    return refuse('tool_choice', `tools of type '${shorten(choice.otherType)}' are not supported; ${CHOICES}`)
  }
  const [{ name }] = findOffered(choice, find)
  return { name }
}

/** Returns at least one tool. */
function findOffered(wanted: WantedTool, find: FindTools): readonly [ToolDefinition, ...ToolDefinition[]] {
  const [first, ...others] = find(wanted)
  if (first !== undefined) return [first, ...others]
  const { namespace, name } = wanted
  const named = [namespace, name].filter((one) => one !== undefined).join('.')
  return refuse('tool_choice', `no function '${shorten(named)}' is offered`)
}

function refuse(param: string, problem: string): never {
  throw new ApiError('invalid_request', `'${param}': ${problem}.`, { param })
}
