import { readBody } from '../fields/read-body.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { MESSAGE_FIELDS } from './messages-body.ts'
import { createMessageEvents, type EagerTools } from './to-events.ts'
import { toGeneration } from './to-generation.ts'
import { toObject } from './to-object.ts'

/** `POST /v1/messages`, the Messages interface of Anthropic. */
export const messages: GenerationEndpoint<EagerTools> = {
  prepare(json, catalog) {
    const { model, body } = readBody(json, catalog, {
      table: MESSAGE_FIELDS,
      prompt: 'messages',
      required: ['max_tokens'],
    })
    return {
      model,
      ...toGeneration(body, model),
      stream: body.stream === true,
      options: new Map(body.tools?.map(({ definition, isEager }) => [definition?.name, isEager])),
    }
  },
  renderWhole: toObject,
  renderStream: createMessageEvents,
}
