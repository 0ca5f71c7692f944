import { z } from 'zod'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { refuseUnsupported } from '../fields/refuse-unsupported.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { CountEndpoint } from '../serve-count.ts'
import { ResponsesBody } from './responses-body.ts'
import { toGeneration } from './to-generation.ts'
import { UNSUPPORTED_FIELDS } from './unsupported-fields.ts'

/** The response body. */
export const ResponseCount = z.object({
  object: z.literal('response.input_tokens'),
  input_tokens: z.int().min(0),
})

/** `POST /v1/responses/input_tokens`. */
export const responseCount: CountEndpoint = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'input'])
    const model = findModelOfBody(catalog, json, 'chat')
    refuseUnsupported(json, UNSUPPORTED_FIELDS)
    refuseLongList(json, 'input', model)
    return { model, request: toGeneration(parseBody(ResponsesBody, json), model).request }
  },
  render: (tokens): z.infer<typeof ResponseCount> => ({
    object: 'response.input_tokens',
    input_tokens: tokens,
  }),
}
