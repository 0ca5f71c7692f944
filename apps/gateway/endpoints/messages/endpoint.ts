import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { checkFields } from '../fields/field-rules.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { MESSAGE_FIELDS, MessagesBody } from './messages-body.ts'
import { createMessageEvents, type EagerTools } from './to-events.ts'
import { toGeneration } from './to-generation.ts'
import { toObject } from './to-object.ts'

/** `POST /v1/messages`, the Messages interface of Anthropic. */
export const messages: GenerationEndpoint<EagerTools> = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'messages', 'max_tokens'])
    const model = findModelOfBody(catalog, json, 'chat')
    const fields = checkFields(json, MESSAGE_FIELDS)
    refuseLongList(json, 'messages', model)
    const body = parseBody(MessagesBody, fields)
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
