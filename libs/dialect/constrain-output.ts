import type { ChatRequest, OutputFormat, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { parseExact } from '#libs/json-schema/exact-json.ts'
import { isJsonObject, type JsonSchema } from '#libs/json-schema/json-schema.ts'
import { fitBounds } from './constraints/fit-bounds.ts'
import { nameReferences } from './constraints/name-references.ts'
import { toCurrentDraft } from './constraints/to-current-draft.ts'
import type { AnswerShape, CallsShape, EngineConstraint } from './engine-constraint.ts'
import type { ModelFamily } from './family.ts'
import { TOOL_CALL_FORMATS, type ToolCallFormatName } from './formats.ts'
import { JSON_GRAMMAR } from './formats/json.ts'

/** The output cannot be constrained as the caller asks. The message may be shown to the caller. */
export class ConstraintError extends Error {
  /** The message is never logged. */
  readonly quotesRequest = true

  constructor(message: string) {
    super(message)
    this.name = 'ConstraintError'
  }
}

type ConstrainedRequest = Pick<ChatRequest, 'tools' | 'toolChoice' | 'parallelToolCalls' | 'outputFormat'>

/**
 * Returns the grammar that the engine applies to a chat's output; null if the output has no grammar. If the caller
 * forces calls, the output format is ignored. If the model may choose whether it calls a tool, its output is either
 * calls or an answer in the output format. Calls are allowed although the caller asked for an output format: clients
 * that run tools in a loop send the output format with every request, but mean it for the last answer.
 *
 * The engine itself exempts reasoning between tags from the grammar. Harmony's reasoning is the first message of the
 * output and part of the grammar. Throws a ConstraintError if calls are forced and the family has no tool calls.
 */
export function constrainOutput(
  request: ConstrainedRequest,
  { toolCalls }: Pick<ModelFamily, 'toolCalls'>,
): EngineConstraint | null {
  const output = toOutput(request, toolCalls)
  const messages = messagesOf(toolCalls)
  return output === null || messages === undefined
    ? output
    : { type: 'after-thinking', thinking: messages.thinking, output }
}

/**
 * Returns the format in which a request's calls are written. This is `json` if the calls must follow a grammar and no
 * grammar exists for the family's own format. Otherwise it is the family's own format.
 */
export function callsFormat(
  request: Pick<ChatRequest, 'toolChoice' | 'outputFormat'>,
  format: ModelFamily['toolCalls'],
): ModelFamily['toolCalls'] {
  const isConstrained =
    request.toolChoice === 'required' ||
    typeof request.toolChoice === 'object' ||
    (request.toolChoice === 'auto' && request.outputFormat.type !== 'text')
  if (format === 'none' || !isConstrained) return format
  return TOOL_CALL_FORMATS[format].constrain === null ? 'json' : format
}

/** Returns whether the output ends after its first call: the caller allows no parallel calls, or names the tool. */
export function allowsOneCall({
  toolChoice,
  parallelToolCalls,
}: Pick<ChatRequest, 'toolChoice' | 'parallelToolCalls'>): boolean {
  return !parallelToolCalls || typeof toolChoice === 'object'
}

type Output = Exclude<EngineConstraint, { type: 'after-thinking' }>

function toOutput(request: ConstrainedRequest, toolCalls: ModelFamily['toolCalls']): Output | null {
  const { tools, toolChoice, outputFormat } = request
  const single = allowsOneCall(request)
  if (toolChoice === 'required' || typeof toolChoice === 'object') {
    if (toolCalls === 'none') throw new ConstraintError('this model cannot call tools')
    const forced = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.name)
    return { type: 'calls', calls: toCallsShape(toolCalls, forced.map(toConstrained), single) }
  }
  const shape = toAnswer(outputFormat)
  if (shape === null) return toStrict(request, toolCalls)
  const header = messagesOf(toolCalls)?.answerHeader
  const answer = header === undefined ? shape : { header, ...shape }
  if (toolChoice === 'none' || tools.length === 0 || toolCalls === 'none')
    return { type: 'answer', ...answer }
  return {
    type: 'calls-or-answer',
    calls: toCallsShape(toolCalls, tools.map(toConstrained), single),
    ...answer,
  }
}

/**
 * Returns the grammar for a model that may choose whether it calls a tool. From the beginning of a call on, the grammar
 * allows the offered tools: strict tools with arguments that fit their schema, other tools with any object. Returns
 * null if the model cannot or must not call tools, if no tool is strict, or if the format does not mark the beginning
 * of a call.
 */
function toStrict(request: ConstrainedRequest, toolCalls: ModelFamily['toolCalls']): Output | null {
  const { tools, toolChoice } = request
  if (toolCalls === 'none' || toolChoice === 'none' || !tools.some(({ strict }) => strict)) return null
  const trigger = TOOL_CALL_FORMATS[toolCalls].constrain?.trigger
  if (trigger === undefined) return null
  const constrained = tools.map((tool) =>
    tool.strict === true ? toConstrained(tool) : { name: tool.name, schema: { type: 'object' } },
  )
  const calls = toCallsShape(toolCalls, constrained, allowsOneCall(request))
  return { type: 'text-with-calls', trigger, calls }
}

function messagesOf(toolCalls: ModelFamily['toolCalls']) {
  return toolCalls === 'none' ? undefined : TOOL_CALL_FORMATS[toolCalls].constrain?.messages
}

function toCallsShape(
  format: ToolCallFormatName,
  tools: readonly { readonly name: string; readonly schema: JsonSchema }[],
  single: boolean,
): CallsShape {
  const { section = null, separator, begin, end } = TOOL_CALL_FORMATS[format].constrain ?? JSON_GRAMMAR
  return {
    section,
    tags: tools.map(({ name, schema }) => ({ begin: begin(name), schema, end })),
    separator,
    single,
  }
}

const toConstrained = (tool: ToolDefinition) => ({ name: tool.name, schema: toArgumentsSchema(tool) })

function toAnswer(format: OutputFormat): AnswerShape | null {
  switch (format.type) {
    case 'text':
      return null
    case 'json-object':
      return { schema: { type: 'object' } }
    case 'json-schema':
      return { schema: toEngineSchema(exactSchema(format.schema, format.schemaText)) }
    case 'regex':
    case 'choice':
    case 'grammar':
      return { text: format }
  }
}

const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }

/** Arguments are an object, even if the schema does not say so. */
function toArgumentsSchema({ parameters, parametersText }: ToolDefinition): JsonSchema {
  if (parameters === null) return NO_ARGUMENTS
  const schema = exactSchema(parameters, parametersText)
  const hasType = ['type', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in schema)
  return toEngineSchema(hasType ? schema : { ...schema, type: 'object' })
}

/**
 * Returns the schema that `text` contains, in which numbers keep their spelling; without `text`, returns `schema`. In
 * both, property names that are made of digits come first, as in every JavaScript object.
 */
function exactSchema(schema: JsonSchema, text: string | undefined): JsonSchema {
  const exact = text === undefined ? schema : parseExact(text)
  return isJsonObject(exact) ? exact : schema
}

/**
 * Rewrites `schema` so that the engine's grammar library can read it. The result allows the same values, except that
 * bounds which the library cannot represent are left out (`fitBounds`).
 */
const toEngineSchema = (schema: JsonSchema): JsonSchema => fitBounds(toCurrentDraft(nameReferences(schema)))
