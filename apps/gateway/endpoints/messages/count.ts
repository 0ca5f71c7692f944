import { z } from 'zod'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { checkFields } from '../fields/field-rules.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { CountEndpoint } from '../serve-count.ts'
import { MESSAGE_FIELDS, MessageCountBody } from './messages-body.ts'
import { toPrompt } from './to-generation.ts'

/** The response body. */
export const MessageCount = z.object({ input_tokens: z.int().min(0) })

/** `POST /v1/messages/count_tokens`. */
export const messageCount: CountEndpoint = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'messages'])
    const model = findModelOfBody(catalog, json, 'chat')
    const fields = checkFields(json, MESSAGE_FIELDS)
    refuseLongList(json, 'messages', model)
    const prompt = toPrompt(parseBody(MessageCountBody, fields), model)
    return { model, request: { ...prompt, sampling: {}, stop: [] } }
  },
  render: (tokens): z.infer<typeof MessageCount> => ({ input_tokens: tokens }),
}
