import { z } from 'zod'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { refuseUnsupported } from '../fields/refuse-unsupported.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { CountEndpoint } from '../serve-count.ts'
import { PROMPT_FIELDS } from './messages-body.ts'
import { toPrompt } from './to-generation.ts'
import { UNSUPPORTED_FIELDS } from './unsupported-fields.ts'

/** The supported fields of a request, except `model`; fields that make no prompt are ignored. */
export const MessageCountBody = z.object(PROMPT_FIELDS)

/** The response body. */
export const MessageCount = z.object({ input_tokens: z.int().min(0) })

/** `POST /v1/messages/count_tokens`. */
export const messageCount: CountEndpoint = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'messages'])
    const model = findModelOfBody(catalog, json, 'chat')
    refuseUnsupported(json, UNSUPPORTED_FIELDS)
    refuseLongList(json, 'messages', model)
    const prompt = toPrompt(parseBody(MessageCountBody, json), model)
    return { model, request: { ...prompt, sampling: {}, stop: [] } }
  },
  render: (tokens): z.infer<typeof MessageCount> => ({ input_tokens: tokens }),
}
