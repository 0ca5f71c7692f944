import { z } from 'zod'
import { ModelId } from '../fields/model-id.ts'
import { COUNT_ERRORS } from '../generation-errors.ts'
import type { OperationDescription } from '../operation-description.ts'
import { MessageCount } from './count.ts'
import { MessageCountBody } from './messages-body.ts'
import { ANTHROPIC_HEADERS } from '../fields/anthropic-headers.ts'

export const messageCountDescription: OperationDescription = {
  method: 'post',
  path: '/v1/messages/count_tokens',
  id: 'countMessageTokens',
  summary: 'Counts the input tokens of a message.',
  description:
    'Exactly the input tokens that the same request to /v1/messages would have, with those of the cache. It costs nothing.',
  parameters: ANTHROPIC_HEADERS,
  request: {
    name: 'MessageCountRequest',
    schema: z.object({ model: ModelId, ...MessageCountBody.shape }),
    examples: { message: { model: 'demo-chat', messages: [{ role: 'user', content: 'Hello!' }] } },
  },
  answer: { name: 'MessageCount', schema: MessageCount, examples: { count: { input_tokens: 12 } } },
  stream: null,
  errors: COUNT_ERRORS,
  promptField: 'messages',
  style: 'anthropic',
}
