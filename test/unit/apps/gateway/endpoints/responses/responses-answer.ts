import type { IncomingHttpHeaders } from 'node:http'
import { expect } from 'vitest'
import { responses } from '#apps/gateway/endpoints/responses/endpoint.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import { createAnswer } from '#test/support/answer.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const MODEL = modelSpec({ id: 'org/demo', contextWindow: 8_192, reasoning: true, defaultEffort: 'low' })

/** Returns a request as the endpoint prepares it. Model and input have defaults, which the body can replace. */
export function prepare(body: Record<string, unknown>, changes: Partial<ModelSpec> = {}) {
  const model = { ...MODEL, ...changes }
  const find = (id: string) => (id === model.id ? model : null)
  return responses.prepare({ model: model.id, input: 'Hi', ...body }, { find })
}

/** The answer's fields for a request with these headers. */
export function createResponsesAnswer(headers: IncomingHttpHeaders = {}, body: Record<string, unknown> = {}) {
  return createAnswer({ id: '0197-x', model: 'org/demo', options: prepare(body).options, headers })
}

/** Matches the `invalid_request` error that names `param`. */
export const refusal = (param: string, message = '') =>
  expect.objectContaining({ code: 'invalid_request', param, message: expect.stringContaining(message) })
