import { hash } from 'node:crypto'
import type {
  ChatRequest,
  EmbeddingRequest,
  GenerationRequest,
  OutputFormat,
  ToolDefinition,
} from './generation-request.ts'
import { hasMoreCharacters, textBytes, textCharacters } from './text-size.ts'

/**
 * The size of a request. It is counted once, on the thread that prepares the body. A large body is prepared outside of
 * the event loop's thread, so that no stream waits for the count.
 */
export type RequestSize = {
  /** The bytes of all text in the request, plus an estimate of the bytes that a template adds to a list of tools. */
  readonly bytes: number
  /**
   * The bytes of the text that may be in the prompt: `bytes` without the text from which the answer's grammar is made
   * (a schema, a pattern, choices or a grammar).
   */
  readonly promptBytes: number
  /**
   * The cost of compiling the request's grammars, expressed as a number of input tokens. Compiling counts as work,
   * because an engine does nothing else while it compiles. The hold and the cost in the fair order are estimates of the
   * work, and include these tokens. The tokens are never charged.
   */
  readonly grammarTokens: number
  /**
   * A hash of the request's grammars, if an engine takes long to compile them. Null if the request has no grammar, or
   * only small ones.
   */
  readonly grammar: string | null
}

/** The bytes of the instructions that a template adds to a list of tools. */
const TOOLS_BYTES = 480

/** The characters of a schema's text that count as one token: about as many as a token of JSON has. */
const GRAMMAR_CHARACTERS_PER_TOKEN = 4

/** Smaller grammars are compiled within some hundred milliseconds. */
const LARGE_GRAMMAR_CHARACTERS = 10_000

export function sizeOf(request: GenerationRequest): RequestSize {
  if (request.kind === 'embedding') {
    const bytes = textBytes(request) - textBytes(EMPTY_EMBEDDING)
    return { bytes, promptBytes: bytes, grammarTokens: 0, grammar: null }
  }
  const tools = request.tools.map(countedTool)
  const outputFormat = countedFormat(request.outputFormat)
  const answer = sourceOf(outputFormat)
  const answerBytes = answer === null ? 0 : textBytes(answer)
  const counted = textBytes({ ...request, tools, outputFormat }) - textBytes(EMPTY_CHAT)
  const bytes = counted + (tools.length === 0 ? 0 : TOOLS_BYTES)
  const constrained = tools.filter((tool) => isConstrained(tool, request))
  const sources = [answer, ...constrained.map(({ parameters }) => parameters)].filter((one) => one !== null)
  const grammarCharacters = sources.reduce<number>((sum, source) => sum + textCharacters(source), 0)
  return {
    bytes,
    promptBytes: bytes - answerBytes,
    grammarTokens: Math.ceil(grammarCharacters / GRAMMAR_CHARACTERS_PER_TOKEN),
    grammar: grammarCharacters < LARGE_GRAMMAR_CHARACTERS ? null : hash('sha256', JSON.stringify(sources)),
  }
}

/** The text of which the engine makes the answer's grammar. */
function sourceOf(format: ReturnType<typeof countedFormat>): unknown {
  switch (format.type) {
    case 'text':
    case 'json-object':
      return null
    case 'json-schema':
      return format.schema
    case 'regex':
      return format.pattern
    case 'choice':
      return format.choices
    case 'grammar':
      return format.grammar
  }
}

/**
 * A schema that is present as an object and as text is counted in the longer form. The text may have more digits than
 * the object, and every digit costs tokens.
 */
function countedTool(tool: ToolDefinition) {
  const { parametersText: text, ...others } = tool
  return text === undefined ? tool : { ...others, parameters: longer(text, tool.parameters) }
}

function countedFormat(format: OutputFormat) {
  if (format.type !== 'json-schema' || format.schemaText === undefined) return format
  return { type: format.type, schema: longer(format.schemaText, format.schema) }
}

const longer = (text: string, schema: object | null) =>
  hasMoreCharacters(schema, text.length) ? schema : text

/**
 * Returns whether the engine constrains the calls of a tool to the tool's schema. That depends on `toolChoice`:
 * - the name of a tool: only the calls of this tool are constrained.
 * - `required`: the calls of every tool are constrained.
 * - `auto`: if the output format is text, only the calls of strict tools are constrained. Otherwise the calls of every
 *   tool are constrained.
 * - `none`: no calls are constrained, because there are none.
 */
export function isConstrained(
  { name, strict }: Pick<ToolDefinition, 'name' | 'strict'>,
  { toolChoice: choice, outputFormat }: Pick<ChatRequest, 'toolChoice' | 'outputFormat'>,
): boolean {
  if (typeof choice === 'object') return choice.name === name
  return choice === 'required' || (choice === 'auto' && (strict === true || outputFormat.type !== 'text'))
}

/**
 * An empty request. Its size is subtracted from the size of each chat, because the names of the fields are not the
 * caller's text. They would distort the ratio of tokens to bytes of small requests.
 */
const EMPTY_CHAT: Omit<ChatRequest, 'messages'> & { messages: [] } = {
  kind: 'chat',
  messages: [],
  tools: [],
  toolChoice: 'auto',
  parallelToolCalls: true,
  outputFormat: { type: 'text' },
  sampling: {},
  stop: [],
  reasoningEffort: 'off',
}
const EMPTY_EMBEDDING: EmbeddingRequest = { kind: 'embedding', inputs: [] }
