import { toChoices } from '../fields/choices.ts'
import { readBody } from '../fields/read-body.ts'
import type { GenerationEndpoint } from '../generation-endpoint.ts'
import { COMPLETION_FIELDS } from './completion-body.ts'
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
    const { model, body } = readBody(json, catalog, { table: COMPLETION_FIELDS, prompt: 'prompt' })
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
