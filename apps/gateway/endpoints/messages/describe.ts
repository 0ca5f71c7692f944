import { toRequestSchema } from '../fields/field-rules.ts'
import { GENERATION_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { MessageEvent } from './message-events.ts'
import { MessageObject } from './message-object.ts'
import { MESSAGE_FIELDS } from './messages-body.ts'
import { ANTHROPIC_HEADERS } from '../fields/anthropic-headers.ts'

const usage = {
  input_tokens: 12,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 5,
  output_tokens_details: { thinking_tokens: 0 },
  service_tier: 'standard',
}
const message = {
  id: 'msg_0199',
  type: 'message',
  role: 'assistant',
  model: 'demo-chat',
  content: [{ type: 'text', text: 'Hello!' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage,
}
const tool = {
  name: 'get_weather',
  description: 'Returns the weather.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const call = { type: 'tool_use', id: 'call_0', name: 'get_weather', input: { city: 'Paris' } }
const question = { role: 'user', content: 'What is the weather in Paris?' }

export const messagesDescription: OperationDescription = {
  method: 'post',
  path: '/v1/messages',
  id: 'createMessage',
  summary: 'Continues a conversation, in the shape of Anthropic’s Messages.',
  description:
    'A chat generation in the shape of Anthropic’s Messages, whole or as a stream. The key may also be sent as ' +
    'x-api-key. Images, documents and files of a user are rejected; tools of other types are ignored. Errors have ' +
    'Anthropic’s shape.',
  parameters: ANTHROPIC_HEADERS,
  request: {
    name: 'MessageRequest',
    schema: toRequestSchema(MESSAGE_FIELDS),
    examples: {
      message: { model: 'demo-chat', max_tokens: 1_024, messages: [{ role: 'user', content: 'Hello!' }] },
      stream: {
        model: 'demo-chat',
        max_tokens: 1_024,
        system: 'Be brief.',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello!' }] }],
        stream: true,
      },
      toolResult: {
        model: 'demo-chat',
        max_tokens: 1_024,
        messages: [
          question,
          { role: 'assistant', content: [call] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'sunny, 21 °C' }],
          },
        ],
        tools: [tool],
        tool_choice: { type: 'auto' },
      },
      thinking: {
        model: 'demo-reasoning',
        max_tokens: 1_024,
        messages: [{ role: 'user', content: 'Think!' }],
        thinking: { type: 'adaptive' },
        output_config: { effort: 'high' },
      },
    },
  },
  answer: {
    name: 'Message',
    schema: MessageObject,
    examples: {
      text: message,
      toolUse: { ...message, content: [call], stop_reason: 'tool_use' },
    },
  },
  stream: {
    event: {
      name: 'MessageEvent',
      schema: MessageEvent,
      examples: {
        start: { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
        delta: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } },
        end: { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
        stop: { type: 'message_stop' },
      },
    },
    areNamed: true,
    endsWithDone: false,
    headers: {},
  },
  errors: [...GENERATION_ERRORS, 'upstream_error'],
  promptField: 'messages',
  style: 'anthropic',
}
