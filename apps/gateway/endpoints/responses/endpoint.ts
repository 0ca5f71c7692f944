import { readBody } from '../fields/read-body.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { RESPONSES_FIELDS, SEALED_REASONING } from './responses-body.ts'
import { createResponseEvents } from './to-events.ts'
import { toGeneration } from './to-generation.ts'
import { toObject, type ResponsesOptions } from './to-object.ts'
import { toSettings } from './to-settings.ts'

/** `POST /v1/responses`. */
export const responses: GenerationEndpoint<ResponsesOptions> = {
  prepare(json, { reasoningKeys, ...catalog }) {
    const { model, body } = readBody(json, catalog, { table: RESPONSES_FIELDS, prompt: 'input' })
    const generation = toGeneration(body, model, reasoningKeys)
    const { request, maxOutputTokens, spacedNames } = generation
    return {
      model,
      request,
      maxOutputTokens,
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
