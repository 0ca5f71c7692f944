import { expect, it } from 'vitest'
import { carriesSchema } from '#apps/gateway/endpoints/fields/carries-schema.ts'

it.each([
  [{ tools: [] }, true],
  [{ response_format: { type: 'json_schema' } }, true],
  [{ text: { format: { type: 'json_schema' } } }, true],
  [{ messages: [{ role: 'user', content: 'tools' }], user: 'response_format' }, false],
  [{ tools: null, response_format: null, text: null }, false],
  [{ tools: 'none' }, false],
])('%j: %s', (body, expected) => {
  expect(carriesSchema(body)).toBe(expected)
})
