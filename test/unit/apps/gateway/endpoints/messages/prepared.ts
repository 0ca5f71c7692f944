import { expect } from 'vitest'
import { messages } from '#apps/gateway/endpoints/messages/endpoint.ts'
import type { CatalogModel } from '#apps/gateway/catalog.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const MODEL = modelSpec({ id: 'org/demo', contextWindow: 8_192, reasoning: true, defaultEffort: 'low' })

/** Returns a request as the endpoint prepares it. The required fields have defaults, which the body can replace. */
export function prepare(body: Record<string, unknown>, changes: Partial<CatalogModel> = {}) {
  const model = { ...MODEL, ...changes }
  const find = (id: string) => (id === model.id ? model : null)
  const required = { model: model.id, max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] }
  return messages.prepare({ ...required, ...body }, { find })
}

/** Matches the `invalid_request` error that names `param`. */
export const refusal = (param: string, message = '') =>
  expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(message) })
