import type { ModelSpec } from '#libs/contracts/model-spec.ts'

/** Creates a chat model with realistic values. A test sets only the fields that matter to it. */
export function modelSpec(fields: Partial<ModelSpec> = {}): ModelSpec {
  return {
    id: 'demo-chat',
    created: 0,
    ownedBy: 'millrace',
    kind: 'chat',
    contextWindow: 4_096,
    maxOutputTokens: 2_048,
    embedding: null,
    tools: true,
    reasoning: false,
    defaultEffort: 'off',
    inputPriceNano: '1000000',
    cachedInputPriceNano: '500000',
    outputPriceNano: '2000000',
    fixedState: null,
    enabled: true,
    ...fields,
  }
}
