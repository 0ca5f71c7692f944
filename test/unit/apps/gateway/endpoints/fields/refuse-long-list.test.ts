import { expect, test } from 'vitest'
import { chatCompletions } from '#apps/gateway/endpoints/chat-completions/endpoint.ts'
import { completions } from '#apps/gateway/endpoints/completions/endpoint.ts'
import { responses } from '#apps/gateway/endpoints/responses/endpoint.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const model = modelSpec({ contextWindow: 3 })
const catalog = { find: () => model }

test.each([
  ['messages', chatCompletions],
  ['prompt', completions],
  ['input', responses],
] as const)(
  '%s of more entries than the context window has tokens are refused before they are looked at',
  (field, { prepare }) => {
    const wrong = Array.from({ length: 4 }, () => 5)
    const body = { model: model.id, [field]: wrong }
    expect(() => prepare(body, catalog)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: field,
        message: `'${field}': expected at most 3 for this model.`,
      }),
    )
    const short = { ...body, [field]: wrong.slice(1) }
    expect(() => prepare(short, catalog)).toThrow(/expected (?!at most)/)
  },
)
