import { z } from 'zod'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'
import { toRequestSchema } from '../fields/field-rules.ts'
import { GENERATION_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { EVENTS_HEADER } from './choose-events.ts'
import { ResponseEvent } from './response-events.ts'
import { ResponseObject } from './response-object.ts'
import { LOGPROBS, RESPONSES_FIELDS } from './responses-body.ts'

const message = {
  id: 'msg_0199_0',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello!', annotations: [], logprobs: [] }],
}
const tool = {
  type: 'function',
  name: 'get_weather',
  description: 'Returns the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const response = {
  id: 'resp_0199',
  object: 'response',
  created_at: 1_764_547_200,
  completed_at: 1_764_547_201,
  status: 'completed',
  incomplete_details: null,
  error: null,
  model: 'demo-chat',
  usage: {
    input_tokens: 12,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 17,
  },
  background: false,
  frequency_penalty: 0,
  instructions: 'Be brief.',
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: 'none', summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  user: null,
  output: [message],
}

export const responsesDescription: OperationDescription = {
  method: 'post',
  path: '/v1/responses',
  id: 'createResponse',
  summary: 'Continues a conversation given as items.',
  description:
    'A chat generation in the shape of OpenAI’s Responses. The service stores no responses: callers send all ' +
    'items of the conversation. A stream has either the six event types of the interface (created, in_progress, ' +
    'output_text.delta, output_text.done, output_item.done, completed) or OpenAI’s complete sequence, which ' +
    'some clients need. Both end with response.completed, or with response.failed after an error.',
  parameters: describeParameters(
    'header',
    z.object({
      [EVENTS_HEADER]: z.string().optional().meta({
        description:
          'The set of a stream’s events: spec or full. By default known client libraries get full, others spec.',
        example: 'spec',
      }),
    }),
  ),
  request: {
    name: 'ResponseRequest',
    schema: toRequestSchema(RESPONSES_FIELDS),
    examples: {
      text: { model: 'demo-chat', instructions: 'Be brief.', input: 'Hello!' },
      stream: { model: 'demo-chat', input: 'Hello!', stream: true },
      toolLoop: {
        model: 'demo-chat',
        input: [
          { role: 'user', content: 'What is the weather in Paris?' },
          { type: 'function_call', call_id: 'call_0', name: 'get_weather', arguments: '{"city":"Paris"}' },
          { type: 'function_call_output', call_id: 'call_0', output: 'sunny, 21 °C' },
        ],
        tools: [tool],
      },
      structuredOutput: {
        model: 'demo-chat',
        input: 'Where is it?',
        text: {
          format: {
            type: 'json_schema',
            name: 'answer',
            schema: { type: 'object', properties: { city: { type: 'string' } } },
          },
        },
      },
      logprobs: {
        model: 'demo-chat',
        input: 'Hello!',
        include: [LOGPROBS],
        top_logprobs: 2,
      },
      reasoning: { model: 'demo-reasoning', input: 'Think!', reasoning: { effort: 'high', summary: 'auto' } },
    },
  },
  answer: { name: 'Response', schema: ResponseObject, examples: { text: response } },
  stream: {
    event: {
      name: 'ResponseEvent',
      schema: ResponseEvent,
      examples: {
        delta: {
          type: 'response.output_text.delta',
          sequence_number: 2,
          item_id: message.id,
          output_index: 0,
          content_index: 0,
          delta: 'Hello!',
          logprobs: [],
        },
        itemDone: {
          type: 'response.output_item.done',
          sequence_number: 4,
          output_index: 0,
          item: message,
        },
        completed: { type: 'response.completed', sequence_number: 5, response },
      },
    },
    areNamed: true,
    endsWithDone: false,
    headers: {
      [EVENTS_HEADER]: {
        description: 'The set of the stream’s events.',
        schema: z.enum(['spec', 'full']),
      },
    },
  },
  errors: GENERATION_ERRORS,
  promptField: 'input',
}
