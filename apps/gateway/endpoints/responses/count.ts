import { z } from 'zod'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { checkFields } from '../fields/field-rules.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { CountEndpoint } from '../serve-count.ts'
import { RESPONSES_FIELDS, ResponsesBody } from './responses-body.ts'
import { toGeneration } from './to-generation.ts'

/** The response body. */
export const ResponseCount = z.object({
  object: z.literal('response.input_tokens'),
  input_tokens: z.int().min(0),
})

/** `POST /v1/responses/input_tokens`. */
export const responseCount: CountEndpoint = {
  prepare(json, { reasoningKeys, ...catalog }) {
    requireFields(json, ['model', 'input'])
    const model = findModelOfBody(catalog, json, 'chat')
    const fields = checkFields(json, RESPONSES_FIELDS)
    refuseLongList(json, 'input', model)
    const { request } = toGeneration(parseBody(ResponsesBody, fields), model, reasoningKeys)
    return { model, request }
  },
  render: (tokens): z.infer<typeof ResponseCount> => ({
    object: 'response.input_tokens',
    input_tokens: tokens,
  }),
}
