import type { ChatMessage, ToolCall } from '#libs/contracts/generation-request.ts'
import type { Answer, ApiTool, Ask } from './chat-server.ts'

/** A request, and the answer of the server with which the conversation was held. */
export type Asked = { readonly name: string; readonly request: Ask; readonly answer: Answer }

const WEATHER: ApiTool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', enum: ['Paris'] } },
    required: ['city'],
    additionalProperties: false,
  },
}
const NOTE: ApiTool = {
  name: 'write_note',
  description: 'Keeps a note.',
  parameters: {
    type: 'object',
    properties: { text: { type: 'string', minLength: 300 } },
    required: ['text'],
    additionalProperties: false,
  },
}
const TOOLS = [WEATHER, NOTE]
/** This limit ends the output within the arguments of `write_note`. */
const CUT_TOKENS = 96
const CALL_TOKENS = 256
const TEXT_TOKENS = 8

/** Nine letters and digits, the only form of ids that Mistral's templates accept. */
const ID = 'call12345'
const IN_PARIS: ToolCall = { id: ID, name: WEATHER.name, arguments: '{"city":"Paris"}' }
const CUT: ToolCall = { id: ID, name: NOTE.name, arguments: '{"text":"The weather in' }

const system = (content: string): ChatMessage => ({ role: 'system', content })
const user = (content: string): ChatMessage => ({ role: 'user', content })

/**
 * Holds these conversations with `ask`:
 *
 * - a loop of three turns with tools;
 * - a call that is cut and continues in the next request;
 * - several system messages;
 * - a stop string that occurs in a call.
 *
 * Each answer becomes a part of the next request, as a client would send it. A model with random weights may write
 * reasoning without end, so a forced call may be missing; the conversation then continues with a made-up call. Without
 * `tools`, no tools are offered and all calls are made up; this is for templates that print no tools.
 */
export async function leadConversations(
  ask: (request: Ask) => Promise<Answer>,
  { tools }: { readonly tools: boolean },
): Promise<Asked[]> {
  const asked: Asked[] = []
  async function follow(name: string, given: Ask): Promise<Answer> {
    const { tools: _, forced: __, ...plain } = given
    const request = tools ? given : plain
    const answer = await ask(request)
    asked.push({ name, request, answer })
    return answer
  }

  const start = [system('You are terse.'), user('How is the weather in Paris? Note it.')]
  const first = { messages: start, tools: TOOLS, forced: WEATHER.name, maxTokens: CALL_TOKENS }
  const called = [
    ...start,
    ...withResult(await follow('tool loop, turn 1', first), IN_PARIS, '{"sky":"clear"}'),
  ]
  const second = { messages: called, tools: TOOLS, forced: WEATHER.name, maxTokens: CALL_TOKENS }
  const again = [
    ...called,
    ...withResult(await follow('tool loop, turn 2', second), IN_PARIS, 'clear, 21 °C'),
  ]
  const third = { messages: again, tools: TOOLS, maxTokens: TEXT_TOKENS }
  const told = [...again, toMessage(await follow('tool loop, turn 3', third)), user('Thanks. And tomorrow?')]
  await follow('after the loop', { messages: told, tools: TOOLS, maxTokens: TEXT_TOKENS })

  const cut = { messages: start, tools: TOOLS, forced: NOTE.name, maxTokens: CUT_TOKENS }
  const half = [
    ...start,
    ...withResult(await follow('a call that is cut', cut), CUT, 'the arguments are no JSON'),
  ]
  await follow('after the cut call', { messages: half, tools: TOOLS, maxTokens: TEXT_TOKENS })

  const stopped = { ...first, stop: 'Paris' }
  const rest = [...start, ...withResult(await follow('a stop string in a call', stopped), IN_PARIS, '21 °C')]
  await follow('after that call', { messages: rest, tools: TOOLS, stop: 'Paris', maxTokens: TEXT_TOKENS })

  const two = [system('You are terse.'), system('You answer in French.'), user('Good morning!')]
  await follow('two system messages', { messages: two, maxTokens: TEXT_TOKENS })
  const later: ChatMessage[] = [
    ...two.slice(1),
    { role: 'assistant', content: 'Bonjour !', reasoning: '', toolCalls: [] },
    system('Now answer in German.'),
    user('And in the evening?'),
  ]
  await follow('a system message further on', { messages: later, maxTokens: TEXT_TOKENS })
  return asked
}

function toMessage(answer: Answer): ChatMessage {
  if (answer.status === 'refused') throw new Error(`Millrace refused a request: ${answer.reason}`)
  return { role: 'assistant', content: answer.content, reasoning: '', toolCalls: [...answer.calls] }
}

/**
 * Returns the message of an answer and a result for each of its calls. An answer without calls gets the call
 * `otherwise`.
 */
function withResult(answer: Answer, otherwise: ToolCall, content: string): ChatMessage[] {
  const calls = answer.status === 'answered' && answer.calls.length > 0 ? answer.calls : [otherwise]
  const results = calls.map(({ id }): ChatMessage => ({ role: 'tool', toolCallId: id, content }))
  return [{ role: 'assistant', content: '', reasoning: '', toolCalls: [...calls] }, ...results]
}
