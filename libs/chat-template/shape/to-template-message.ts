import type { ToolCall } from '#libs/contracts/generation-request.ts'
import { UnprintableError, type FittedMessage } from './fit-messages.ts'
import type { TemplateShape } from './template-shape.ts'

/** Makes a caller's values safe to pass through a template. */
export type SafeValues = {
  /** `special`: only special tokens are guarded. */
  readonly text: (text: string, tokens: 'all' | 'special') => string
  /** Parses JSON. Throws for text that is not JSON, or too deep to print. */
  readonly json: (json: string) => unknown
  /** As `json`, but with `parseExact`, for values that no template prints. */
  readonly exactJson: (json: string) => unknown
}

/** A call that its model's family can write; `json` is the text of the arguments. */
export type WritableCall = { readonly name: string; readonly args: object; readonly json: string }

/** Returns the text of calls as the model writes them; null if its family writes none. */
export type WriteCalls = ((calls: readonly WritableCall[]) => string) | null

/**
 * Returns a message as the template reads it. Absent fields stay absent, because templates test `is defined`. Texts in
 * the message that look like added tokens of the tokenizer are guarded (`token-guard.ts`). In the text and the
 * reasoning of an assistant, only special tokens are guarded, because the model itself wrote the other added tokens
 * there, and templates search for them.
 */
export function toTemplateMessage(
  message: FittedMessage,
  shape: TemplateShape,
  { safe, writeCalls }: { readonly safe: SafeValues; readonly writeCalls: WriteCalls },
): Record<string, unknown> {
  switch (message.role) {
    case 'tool': {
      const { content, toolCallId, callName } = message
      return {
        role: 'tool',
        content: safe.text(content, 'all'),
        tool_call_id: safe.text(toolCallId, 'all'),
        ...(shape.calls?.namedResults === true &&
          callName !== undefined && { name: safe.text(callName, 'all') }),
      }
    }
    case 'assistant':
      return toAssistant(message, shape, { safe, writeCalls })
    case 'system':
    case 'user':
      return { role: message.role, content: safe.text(message.content, 'all') }
  }
}

function toAssistant(
  message: Extract<FittedMessage, { role: 'assistant' }>,
  shape: TemplateShape,
  { safe, writeCalls }: { readonly safe: SafeValues; readonly writeCalls: WriteCalls },
): Record<string, unknown> {
  const { content, reasoning, toolCalls } = message
  const text = safe.text(content, 'special')
  const thought = safe.text(reasoning, 'special')
  if (toolCalls.length === 0) return { role: 'assistant', ...withReasoning(text, thought, shape) }
  if (shape.calls?.form === 'written') {
    if (writeCalls === null) throw new UnprintableError('tool calls')
    const written = writeCalls(toolCalls.map((call) => toWritable(call, safe)))
    return { role: 'assistant', ...withReasoning(text + written, thought, shape) }
  }
  return {
    role: 'assistant',
    ...withReasoning(text === '' ? (shape.calls?.empty ?? null) : text, thought, shape),
    tool_calls: toolCalls.map((call) => ({
      id: safe.text(call.id, 'all'),
      type: 'function',
      function: {
        name: safe.text(call.name, 'all'),
        arguments: toArguments(call.arguments, shape, safe),
      },
    })),
  }
}

function withReasoning(
  content: string | null,
  thought: string,
  shape: TemplateShape,
): Record<string, unknown> {
  if (thought === '') return { content }
  switch (shape.reasoning) {
    case 'both':
      return { content, reasoning: thought, reasoning_content: thought }
    case 'thinking':
      return { content, thinking: thought }
    case 'tool_plan':
      return { content, tool_plan: thought }
    case 'parts':
      return {
        content: [
          { type: 'thinking', thinking: thought },
          ...(content === null || content === '' ? [] : [{ type: 'text', text: content }]),
        ],
      }
  }
}

/**
 * Parses the arguments before the template sees them, as vLLM does, and treats empty text and `null` as no arguments. A
 * template with the call form `text` gets the object's text, which is parsed only to check it; other templates get the
 * object.
 *
 * `otherArguments` decides about arguments that are no object. These may also be text that is no JSON (the caller
 * replays a call that was cut short) or that is too deep to print.
 * - `text`: the template gets the arguments as they are.
 * - `wrapped`: they become the one argument of an object, so that the model sees what it wrote.
 * - null: the template cannot print them. Throws an UnprintableError.
 */
function toArguments(text: string, { calls, otherArguments }: TemplateShape, safe: SafeValues): unknown {
  const isText = calls?.form === 'text'
  const value = parse(text, safe.json)
  if (isObject(value)) return isText ? safe.text(toJsonText(text), 'all') : value
  if (otherArguments === null) throw new UnprintableError('a call whose arguments are no JSON object')
  if (otherArguments === 'text') return isText || value === undefined ? safe.text(text, 'all') : value
  const wrapped = { [WRAPPED]: safe.text(text, 'all') }
  return isText ? JSON.stringify(wrapped) : wrapped
}

const WRAPPED = 'arguments'

function toWritable({ name, arguments: text }: ToolCall, safe: SafeValues): WritableCall {
  const value = parse(text, safe.exactJson)
  const args = isObject(value) ? value : null
  const json = args === null ? JSON.stringify({ [WRAPPED]: text }) : toJsonText(text)
  return {
    name: safe.text(name, 'all'),
    args: args ?? { [WRAPPED]: safe.text(text, 'all') },
    json: safe.text(json, 'all'),
  }
}

const toJsonText = (text: string): string => (isNothing(text) ? '{}' : text)

/** Models write `null` for the arguments of a tool without parameters. */
const isNothing = (text: string): boolean => ['', 'null'].includes(text.trim())

/** Returns undefined if the text is no JSON, or too deep to print. */
function parse(text: string, parser: (json: string) => unknown): unknown {
  try {
    return parser(toJsonText(text))
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
