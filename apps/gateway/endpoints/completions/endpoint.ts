import { parseBody, requireFields } from '../../http/parse-body.ts'
import { toChoices } from '../fields/choices.ts'
import { refuseLongList } from '../fields/refuse-long-list.ts'
import { checkFields } from '../fields/field-rules.ts'
import { findModelOfBody } from '../../catalog.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { COMPLETION_FIELDS, CompletionBody } from './completion-body.ts'
import { createCompletionChunks, type CompletionOptions } from './to-chunks.ts'
import { toEcho } from './echo.ts'
import { toGeneration, toLogprobCount } from './to-generation.ts'
import { toObject } from './to-object.ts'

/**
 * `POST /v1/completions`: the legacy prompt endpoint. The prompt becomes a chat of one user message, or reaches the model
 * as it is, if the answer echoes it.
 */
export const completions: GenerationEndpoint<CompletionOptions> = {
  prepare(json, catalog) {
    requireFields(json, ['model', 'prompt'])
    const model = findModelOfBody(catalog, json, 'chat')
    const fields = checkFields(json, COMPLETION_FIELDS)
    refuseLongList(json, 'prompt', model)
    const body = parseBody(CompletionBody, fields)
    const choices = toChoices(body)
    return {
      model,
      ...toGeneration(body, model),
      ...choices,
      stream: body.stream === true,
      options: { logprobs: toLogprobCount(body), ...choices, ...toEcho(body) },
    }
  },
  renderWhole: toObject,
  renderStream: createCompletionChunks,
}
