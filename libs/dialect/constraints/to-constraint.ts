import type { ChatRequest, OutputFormat, ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from '../family.ts'
import type { EngineConstraint, JsonSchema } from '#apps/worker/engine/engine-client.ts'
import { allowsOneCall } from './allows-one-call.ts'
import { toCallsShape, triggerOf } from './calls-shape.ts'
import { ConstraintError } from './constraint-error.ts'
import { nameReferences } from './name-references.ts'
import { toCurrentDraft } from './to-current-draft.ts'

/**
 * What the engine holds a chat's output to; null leaves the model free. Calls that are forced override the
 * output format. Where the model may choose, its turn is either calls or an answer of the format: clients that
 * run tools in a loop send the format of the last turn with every one before it. Thinking between tags is left to
 * the engine, which holds nothing back from it; harmony's is the first message of the output. Throws a
 * ConstraintError when calls are forced on a family that cannot write any.
 */
export function toConstraint(
  request: Pick<ChatRequest, 'tools' | 'toolChoice' | 'parallelToolCalls' | 'outputFormat'>,
  { toolCalls }: Pick<ModelFamily, 'toolCalls'>,
): EngineConstraint | null {
  const output = toOutput(request, toolCalls)
  return output === null || toolCalls !== 'harmony'
    ? output
    : { type: 'after-thinking', thinking: HARMONY_THINKING, output }
}

type Output = Exclude<EngineConstraint, { type: 'after-thinking' }>

function toOutput(
  request: Parameters<typeof toConstraint>[0],
  toolCalls: ModelFamily['toolCalls'],
): Output | null {
  const { tools, toolChoice, outputFormat } = request
  const single = allowsOneCall(request)
  if (toolChoice === 'required' || typeof toolChoice === 'object') {
    if (toolCalls === 'none') throw new ConstraintError('this model cannot call tools')
    const forced = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.name)
    return { type: 'calls', calls: toCallsShape(toolCalls, forced.map(toHeld), single) }
  }
  const schema = toSchema(outputFormat)
  if (schema === null) return toStrict(request, toolCalls)
  const answer = toolCalls === 'harmony' ? { header: HARMONY_ANSWER, schema } : { schema }
  if (toolChoice === 'none' || tools.length === 0 || toolCalls === 'none') return { type: 'json', ...answer }
  return { type: 'calls-or-json', calls: toCallsShape(toolCalls, tools.map(toHeld), single), ...answer }
}

/**
 * A model that is free to call: from a call's beginning on it is held to the tools that are offered, and to the
 * schemas of the strict ones; as far as its format says where a call begins.
 */
function toStrict(
  { tools, toolChoice, ...request }: Parameters<typeof toConstraint>[0],
  toolCalls: ModelFamily['toolCalls'],
): Output | null {
  if (toolCalls === 'none' || toolChoice === 'none' || !tools.some(({ strict }) => strict)) return null
  const trigger = triggerOf(toolCalls)
  if (trigger === null) return null
  const held = tools.map((tool) =>
    tool.strict === true ? toHeld(tool) : { name: tool.name, schema: { type: 'object' } },
  )
  const single = allowsOneCall({ toolChoice, ...request })
  return { type: 'text-with-calls', trigger, calls: toCallsShape(toolCalls, held, single) }
}

const HARMONY_THINKING = { begin: '<|channel|>analysis<|message|>', end: '<|end|>' }
const HARMONY_ANSWER = '<|start|>assistant<|channel|>final <|constrain|>json<|message|>'

const toHeld = (tool: ToolDefinition) => ({ name: tool.name, schema: toArgumentsSchema(tool) })

function toSchema(format: OutputFormat): JsonSchema | null {
  switch (format.type) {
    case 'text':
      return null
    case 'json-object':
      return { type: 'object' }
    case 'json-schema':
      return toServed(format.schema)
  }
}

const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }

/** Arguments are an object, also by a schema that forgets to say so. */
function toArgumentsSchema({ parameters }: ToolDefinition): JsonSchema {
  if (parameters === null) return NO_ARGUMENTS
  const saysWhat = ['type', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in parameters)
  return toServed(saysWhat ? parameters : { ...parameters, type: 'object' })
}

/** The same schema as the engine's grammar library can read it. */
const toServed = (schema: JsonSchema): JsonSchema => toCurrentDraft(nameReferences(schema))
