import type { Answer } from '#apps/gateway/endpoints/generation-endpoint.ts'
import { modelSpec } from './model-spec.ts'

/** Creates the ids of an answer, for tests of the renderers. */
export function createAnswer<Options>({
  id,
  model,
  options,
  headers = {},
}: {
  id: string
  model: string
  options: Options
  headers?: Answer<Options>['headers']
}): Answer<Options> {
  const nowS = () => 1_700_000_002
  const reasoningKeys = { secrets: ['s'.repeat(32)], account: 'a' }
  return {
    id,
    created: 1_700_000_000,
    nowS,
    model: modelSpec({ id: model }),
    options,
    reasoningKeys,
    headers,
  }
}
