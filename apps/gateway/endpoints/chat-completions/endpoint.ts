import { parseBody, requireFields } from '../../http/parse-body.ts'
import { toChoices } from '../fields/choices.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { checkFields } from '../fields/field-rules.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { CHAT_FIELDS, ChatBody } from './chat-body.ts'
import { createChatChunks, type ChatOptions } from './to-chunks.ts'
import { toGeneration } from './to-generation.ts'
import { toObject } from './to-object.ts'

/** `POST /v1/chat/completions`. */
export const chatCompletions: GenerationEndpoint<ChatOptions> = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'messages'])
    const model = findModelOfBody(catalog, json, 'chat')
    const fields = checkFields(json, CHAT_FIELDS)
    refuseLongList(json, 'messages', model)
    const body = parseBody(ChatBody, fields)
    const choices = toChoices(body)
    return {
      model,
      ...toGeneration(body, model),
      ...choices,
      stream: body.stream === true,
      options: {
        includeUsage: body.stream_options?.include_usage === true,
        logprobs: body.logprobs === true,
        ...choices,
      },
    }
  },
  renderWhole: toObject,
  renderStream: createChatChunks,
}
