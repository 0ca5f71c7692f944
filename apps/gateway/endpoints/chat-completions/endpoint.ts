import { toChoices } from '../fields/choices.ts'
import { readBody } from '../fields/read-body.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { CHAT_FIELDS } from './chat-body.ts'
import { createChatChunks, type ChatOptions } from './to-chunks.ts'
import { toGeneration } from './to-generation.ts'
import { toObject } from './to-object.ts'

/** `POST /v1/chat/completions`. */
export const chatCompletions: GenerationEndpoint<ChatOptions> = {
  prepare(json, catalog) {
    const { model, body } = readBody(json, catalog, { table: CHAT_FIELDS, prompt: 'messages' })
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
