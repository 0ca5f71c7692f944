import { z } from 'zod'
import { readBody } from '../fields/read-body.ts'
import type { CountEndpoint } from '../serve-count.ts'
import { RESPONSES_FIELDS } from './responses-body.ts'
import { toGeneration } from './to-generation.ts'

/** The response body. */
export const ResponseCount = z.object({
  object: z.literal('response.input_tokens'),
  input_tokens: z.int().min(0),
})

/** `POST /v1/responses/input_tokens`. */
export const responseCount: CountEndpoint = {
  prepare(json, { reasoningKeys, ...catalog }) {
    const { model, body } = readBody(json, catalog, { table: RESPONSES_FIELDS, prompt: 'input' })
    const { request } = toGeneration(body, model, reasoningKeys)
    return { model, request }
  },
  render: (tokens): z.infer<typeof ResponseCount> => ({
    object: 'response.input_tokens',
    input_tokens: tokens,
  }),
}
