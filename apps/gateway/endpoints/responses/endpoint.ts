import { ApiError } from '#libs/contracts/api-error.ts'
import { parseBody, requireFields } from '../../http/parse-body.ts'
import { refuseUnserved } from '../fields/refuse-unserved.ts'
import { findModelOfBody } from '../find-model.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { ResponsesBody } from './responses-body.ts'
import { RESPONSES_UNSERVED } from './responses-unserved.ts'
import { createResponseEvents } from './to-events.ts'
import { toGeneration } from './to-generation.ts'
import { toObject, type ResponsesOptions } from './to-object.ts'
import { toSettings } from './to-settings.ts'

/** `POST /v1/responses`. */
export const responses: GenerationEndpoint<ResponsesOptions> = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'input'])
    const model = findModelOfBody(catalog, json, 'chat')
    refuseUnserved(json, RESPONSES_UNSERVED)
    // Before a million items are looked at one by one.
    if (Array.isArray(json['input']) && json['input'].length > model.contextWindow) {
      throw new ApiError('invalid_request', `'input': at most ${model.contextWindow} items fit this model.`, {
        param: 'input',
      })
    }
    const body = parseBody(ResponsesBody, json)
    const generation = toGeneration(body, model)
    return {
      model,
      ...generation,
      stream: body.stream === true,
      options: { settings: toSettings(body, generation, model) },
    }
  },
  renderWhole: toObject,
  renderStream: createResponseEvents,
}
