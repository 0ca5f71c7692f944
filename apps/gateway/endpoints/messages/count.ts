import { z } from 'zod'
import { readBody } from '../fields/read-body.ts'
import type { CountEndpoint } from '../serve-count.ts'
import { MESSAGE_COUNT_FIELDS } from './messages-body.ts'
import { toPrompt } from './to-generation.ts'

/** The response body. */
export const MessageCount = z.object({ input_tokens: z.int().min(0) })

/** `POST /v1/messages/count_tokens`. */
export const messageCount: CountEndpoint = {
  prepare(json, catalog) {
    const { model, body } = readBody(json, catalog, { table: MESSAGE_COUNT_FIELDS, prompt: 'messages' })
    return { model, request: toPrompt(body, model).request }
  },
  render: (tokens): z.infer<typeof MessageCount> => ({ input_tokens: tokens }),
}
