import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { refuseUnsupported } from '../fields/refuse-unsupported.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { ResponsesBody } from './responses-body.ts'
import { UNSUPPORTED_FIELDS } from './unsupported-fields.ts'
import { createResponseEvents } from './to-events.ts'
import { toGeneration } from './to-generation.ts'
import { toObject, type ResponsesOptions } from './to-object.ts'
import { toSettings } from './to-settings.ts'

/** `POST /v1/responses`. */
export const responses: GenerationEndpoint<ResponsesOptions> = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'input'])
    const model = findModelOfBody(catalog, json, 'chat')
    refuseUnsupported(json, UNSUPPORTED_FIELDS)
    refuseLongList(json, 'input', model)
    const body = parseBody(ResponsesBody, json)
    const { spacedNames, ...generation } = toGeneration(body, model)
    return {
      model,
      ...generation,
      stream: body.stream === true,
      options: { settings: toSettings(body, generation, model), spacedNames },
    }
  },
  renderWhole: toObject,
  renderStream: createResponseEvents,
}
