import type { ToolChoice, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { JsonText, writeExact } from '#libs/json-schema/exact-json.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { SpacedNames } from '../fields/tool-names.ts'
import type { NamedFormat } from '../fields/output-format.ts'
import { toOneLine } from '../to-json.ts'
import type { ResponseSettings } from './response-object.ts'
import type { ResponsesBody } from './responses-body.ts'
import type { ResponsesGeneration } from './to-generation.ts'

/**
 * A setting whose JSON has more characters than this is omitted. A stream repeats the settings three times. A client is
 * disconnected when too many bytes are unread, and long settings alone could exceed that limit, even for a client that
 * reads fast enough.
 */
const MAX_REPEATED_LENGTH = 65_536

/**
 * Returns the JSON of the settings with which the request runs: dropped tools are left out, aliases are resolved, and limits are
 * clamped. Open Responses requires a number for each sampling setting. Sampling settings that the request does not have
 * get neutral numbers, because only the worker knows the model's defaults.
 */
export function toSettings(
  body: ResponsesBody,
  { request, maxOutputTokens, spacedNames }: ResponsesGeneration,
  model: ModelSpec,
): string {
  const effort = model.reasoning ? request.reasoningEffort : 'off'
  const settings: WrittenSettings = {
    background: false,
    frequency_penalty: body.frequency_penalty ?? 0,
    instructions: repeat(
      body.instructions === undefined ? 'null' : JSON.stringify(body.instructions),
      'null',
    ),
    max_output_tokens: maxOutputTokens,
    max_tool_calls: null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: request.parallelToolCalls,
    presence_penalty: body.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    // OpenAI's name for `off` is `none`; typed clients accept only OpenAI's values.
    reasoning: { effort: effort === 'off' ? 'none' : effort, summary: body.reasoning?.summary ?? null },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: body.temperature ?? 1,
    text: { format: toFormat(toNamed(body)) },
    tool_choice: toChoice(request.toolChoice, spacedNames),
    tools: repeat(writeExact(toTools(request.tools, spacedNames)), '[]'),
    top_logprobs: request.topLogprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    user: body.user ?? null,
  }
  return toOneLine(writeExact(settings))
}

/** The settings, with the parts that are written in the caller's own spelling. */
type WrittenSettings = Omit<ResponseSettings, 'instructions' | 'text' | 'tools'> &
  Readonly<Record<'instructions' | 'text' | 'tools', unknown>>

/** Returns the format whose name the response repeats. */
function toNamed(body: ResponsesBody): NamedFormat | undefined {
  return body.text?.format ?? body.response_format ?? body.output_config?.format ?? body.output_format
}

function toChoice(choice: ToolChoice, spacedNames: SpacedNames): ResponseSettings['tool_choice'] {
  if (typeof choice === 'string') return choice
  const { name, namespace } = { namespace: undefined, ...choice, ...spacedNames.get(choice.name) }
  return { type: 'function', name, ...(namespace !== undefined && { namespace }) }
}

/** Returns the tools as the caller knows them: a name space has its functions, and stands where its first one was. */
function toTools(tools: readonly ToolDefinition[], spacedNames: SpacedNames): object[] {
  const spacedOf = ({ name }: ToolDefinition) => spacedNames.get(name)
  const groups = Map.groupBy(tools, (tool) => spacedOf(tool)?.namespace ?? tool)
  return Array.from(groups, ([space, inner]) => {
    if (typeof space === 'object') return toTool(space)
    const description = inner.map(spacedOf)[0]?.description ?? ''
    const own = inner.map((tool) => toTool({ ...tool, name: spacedOf(tool)?.name ?? tool.name }))
    return { type: 'namespace', name: space, description, tools: own }
  })
}

function toTool(tool: ToolDefinition) {
  const { name, description, parameters, parametersText: text, strict = false } = tool
  return { type: 'function', name, description, parameters: toExact(parameters, text), strict }
}

/** Returns `text` for a regular expression, a choice and a grammar: typed clients accept only OpenAI's types. */
function toFormat(format: NamedFormat | undefined) {
  if (format?.type === 'json-object') return { type: 'json_object' }
  if (format?.type !== 'json-schema') return { type: 'text' }
  const { name, schema, schemaText: text } = format
  const written = repeat(writeExact(toExact(schema, text)), 'null')
  return { type: 'json_schema', name, description: null, schema: written, strict: true }
}

const toExact = (value: object | null, text: string | undefined) =>
  text === undefined ? value : new JsonText(text)

function repeat(json: string, fallback: string): JsonText {
  return new JsonText(json.length > MAX_REPEATED_LENGTH ? fallback : json)
}
