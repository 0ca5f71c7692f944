import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { checkFields } from '../fields/field-rules.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { RESPONSES_FIELDS, ResponsesBody, SEALED_REASONING } from './responses-body.ts'
import { createResponseEvents } from './to-events.ts'
import { toGeneration } from './to-generation.ts'
import { toObject, type ResponsesOptions } from './to-object.ts'
import { toSettings } from './to-settings.ts'

/** `POST /v1/responses`. */
export const responses: GenerationEndpoint<ResponsesOptions> = {
  prepare(json, { reasoningKeys, ...catalog }) {
    requireFields(json, ['model', 'input'])
    const model = findModelOfBody(catalog, json, 'chat')
    const fields = checkFields(json, RESPONSES_FIELDS)
    refuseLongList(json, 'input', model)
    const body = parseBody(ResponsesBody, fields)
    const { spacedNames, ...generation } = toGeneration(body, model, reasoningKeys)
    return {
      model,
      ...generation,
      stream: body.stream === true,
      options: {
        settings: toSettings(body, generation, model),
        sealsReasoning: body.include?.includes(SEALED_REASONING) === true,
        spacedNames,
      },
    }
  },
  renderWhole: toObject,
  renderStream: createResponseEvents,
}
