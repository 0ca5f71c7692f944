import { toRequestSchema } from '../fields/field-rules.ts'
import { GENERATION_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { CHAT_FIELDS } from './chat-body.ts'
import { ChatChunk } from './chat-chunk.ts'
import { ChatObject } from './chat-object.ts'

const head = { id: 'chatcmpl-0199', created: 1_764_547_200, model: 'demo-chat' }
const usage = {
  prompt_tokens: 12,
  completion_tokens: 5,
  total_tokens: 17,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
}
const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Returns the weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const call = {
  id: 'call_0',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Paris"}' },
}
const question = { role: 'user', content: 'What is the weather in Paris?' }

const chunk = (delta: object, finishReason: string | null = null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finishReason }],
})

export const chatCompletionsDescription: OperationDescription = {
  method: 'post',
  path: '/v1/chat/completions',
  id: 'createChatCompletion',
  summary: 'Continues a conversation.',
  description:
    'Chat generation with tools, structured output and reasoning, whole or as a stream. The request, the model ' +
    'and the credits limit the output.',
  parameters: [],
  request: {
    name: 'ChatCompletionRequest',
    schema: toRequestSchema(CHAT_FIELDS),
    examples: {
      message: { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello!' }] },
      stream: {
        model: 'demo-chat',
        messages: [{ role: 'user', content: 'Hello!' }],
        stream: true,
        stream_options: { include_usage: true },
      },
      severalAnswers: { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello!' }], n: 2 },
      tools: { model: 'demo-chat', messages: [question], tools: [weather], tool_choice: 'auto' },
      toolResult: {
        model: 'demo-chat',
        messages: [
          question,
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_0', content: 'sunny, 21 °C' },
        ],
        tools: [weather],
      },
      structuredOutput: {
        model: 'demo-chat',
        messages: [question],
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'answer',
            schema: { type: 'object', properties: { city: { type: 'string' } } },
          },
        },
      },
      choice: {
        model: 'demo-chat',
        messages: [question],
        response_format: { type: 'choice', choice: ['sunny', 'rainy'] },
      },
      reasoning: {
        model: 'demo-reasoning',
        messages: [{ role: 'user', content: 'Think!' }],
        reasoning_effort: 'high',
      },
    },
  },
  answer: {
    name: 'ChatCompletion',
    schema: ChatObject,
    examples: {
      text: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
        usage,
      },
      toolCall: {
        ...head,
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: null, tool_calls: [call] },
            finish_reason: 'tool_calls',
          },
        ],
        usage,
      },
    },
  },
  stream: {
    event: {
      name: 'ChatCompletionChunk',
      schema: ChatChunk,
      examples: {
        first: chunk({ role: 'assistant', content: '' }),
        text: chunk({ content: 'Hello!' }),
        finish: chunk({}, 'stop'),
        usage: { ...head, object: 'chat.completion.chunk', choices: [], usage },
      },
    },
    areNamed: false,
    endsWithDone: true,
    headers: {},
  },
  errors: [...GENERATION_ERRORS, 'upstream_error'],
  promptField: 'messages',
}
