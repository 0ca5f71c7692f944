import type { ChatRequest, OutputFormat, ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { ModelFamily } from '#libs/contracts/model-family.ts'
import type { CallsShape, EngineConstraint, JsonSchema } from '../../engine/engine-client.ts'
import { allowsOneCall } from './allows-one-call.ts'
import { ConstraintError } from './constraint-error.ts'
import { nameReferences } from './name-references.ts'
import { toCurrentDraft } from './to-current-draft.ts'

/**
 * What the engine holds a chat's output to; null leaves the model free. Calls that are forced override the
 * output format. Where the model may choose, its turn is either calls or an answer of the format: clients that
 * run tools in a loop send the format of the last turn with every one before it. Throws a ConstraintError when
 * calls are forced on a family that cannot write any.
 */
export function toConstraint(
  request: Pick<ChatRequest, 'tools' | 'toolChoice' | 'parallelToolCalls' | 'outputFormat'>,
  family: Pick<ModelFamily, 'toolCalls'>,
): EngineConstraint | null {
  const { tools, toolChoice, outputFormat } = request
  const single = allowsOneCall(request)
  if (toolChoice === 'required' || typeof toolChoice === 'object') {
    if (family.toolCalls === 'none') throw new ConstraintError('this model cannot call tools')
    const forced = toolChoice === 'required' ? tools : tools.filter(({ name }) => name === toolChoice.name)
    return { type: 'calls', calls: CALLS.hermes(forced, single) }
  }
  const schema = toSchema(outputFormat)
  if (schema === null) return null
  if (toolChoice === 'none' || tools.length === 0 || family.toolCalls === 'none') {
    return { type: 'json', schema }
  }
  return { type: 'calls-or-json', calls: CALLS.hermes(tools, single), schema }
}

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

/** How the families with tools write calls, letter by letter: what their chat templates show to the model. */
const CALLS = {
  hermes: (tools: readonly ToolDefinition[], single: boolean): CallsShape => ({
    tags: tools.map((tool) => ({
      begin: `<tool_call>\n{"name": ${JSON.stringify(tool.name)}, "arguments": `,
      schema: toArgumentsSchema(tool),
      end: '}\n</tool_call>',
    })),
    separator: '\n',
    single,
  }),
} as const

const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {}, additionalProperties: false }

/** Arguments are an object, also by a schema that forgets to say so. */
function toArgumentsSchema({ parameters }: ToolDefinition): JsonSchema {
  if (parameters === null) return NO_ARGUMENTS
  const saysWhat = ['type', '$ref', 'anyOf', 'oneOf', 'allOf'].some((keyword) => keyword in parameters)
  return toServed(saysWhat ? parameters : { ...parameters, type: 'object' })
}

/** The same schema as the engine's grammar library can read it. */
const toServed = (schema: JsonSchema): JsonSchema => toCurrentDraft(nameReferences(schema))
