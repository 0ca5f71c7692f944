import { toRequestSchema } from '../fields/field-rules.ts'
import { COUNT_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { ResponseCount } from './count.ts'
import { RESPONSES_FIELDS } from './responses-body.ts'

export const responseCountDescription: OperationDescription = {
  method: 'post',
  path: '/v1/responses/input_tokens',
  id: 'countResponseTokens',
  summary: 'Counts the input tokens of a response.',
  description:
    'Exactly the input tokens that the same request to /v1/responses would have. It costs nothing.',
  parameters: [],
  request: {
    name: 'ResponseCountRequest',
    schema: toRequestSchema(RESPONSES_FIELDS),
    examples: { text: { model: 'demo-chat', instructions: 'Be brief.', input: 'Hello!' } },
  },
  answer: {
    name: 'ResponseCount',
    schema: ResponseCount,
    examples: { count: { object: 'response.input_tokens', input_tokens: 12 } },
  },
  stream: null,
  errors: COUNT_ERRORS,
  promptField: 'input',
}
