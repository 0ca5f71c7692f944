import { describe, expect, it } from 'vitest'
import { prepareEmbeddings } from '#apps/gateway/endpoints/embeddings/prepare-embeddings.ts'
import { EmbeddingRequest } from '#libs/contracts/generation-request.ts'
import { modelSpec } from '#test/support/model-spec.ts'

const matryoshka = modelSpec({
  id: 'cuts',
  kind: 'embedding',
  embedding: { dimensions: 256, matryoshka: true },
})
const fixed = modelSpec({
  id: 'fixed',
  kind: 'embedding',
  embedding: { dimensions: 256, matryoshka: false },
})
const models = [matryoshka, fixed, modelSpec({ id: 'chats' })]
const catalog = { find: (id: string) => models.find((model) => model.id === id) ?? null }

const prepare = (fields: Record<string, unknown>) =>
  prepareEmbeddings({ model: 'cuts', input: 'a', ...fields }, catalog)

describe('a body', () => {
  it('becomes one request whose inputs keep their order', () => {
    const prepared = prepare({ input: ['b', 'a'], user: 'u', unknown: 1 })
    expect(prepared).toEqual({
      model: matryoshka,
      request: { kind: 'embedding', inputs: ['b', 'a'] },
      dimensions: 256,
      encoding: 'float',
    })
    expect(EmbeddingRequest.parse(prepared.request)).toEqual(prepared.request)
    expect(structuredClone(prepared)).toEqual(prepared)
  })

  it('with one text becomes a request of one input', () => {
    expect(prepare({ input: 'a' }).request.inputs).toEqual(['a'])
  })

  it('may have null for optional fields', () => {
    expect(prepare({ encoding_format: null, dimensions: null })).toMatchObject({ encoding: 'float' })
  })

  it('has up to 2,048 inputs', () => {
    expect(prepare({ input: Array(2_048).fill('a') }).request.inputs).toHaveLength(2_048)
    expect(() => prepare({ input: Array(2_049).fill('a') })).toThrow('an array of 1 to 2048 texts')
  })
})

it.each([
  ['no input', { input: null }, "'input' is required."],
  ['an empty text', { input: '' }, "'input': expected text that is not empty."],
  ['an empty text among others', { input: ['a', ''] }, "'input[1]': expected text that is not empty."],
  ['no texts', { input: [] }, "'input': expected at least one text."],
  ['token ids', { input: [1, 2] }, 'token ids are not supported'],
  ['arrays of token ids', { input: [[1, 2], [3]] }, 'token ids are not supported'],
  ['token ids of LangChain', { input: [[64], [65]] }, 'check_embedding_ctx_length=False'],
  ['another encoding', { encoding_format: 'hex' }, "'encoding_format': expected one of float, base64."],
  ['half a dimension', { dimensions: 1.5 }, "'dimensions': expected a whole number."],
  ['no dimension', { dimensions: 0 }, "'dimensions': expected at least 1."],
  ['too many dimensions', { dimensions: 257 }, 'a whole number from 1 to 256'],
  ['a cut that the model does not allow', { model: 'fixed', dimensions: 255 }, 'expected 256, or nothing'],
])('refuses %s, and names the allowed values', (_name, fields, message) => {
  expect(() => prepare(fields)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  expect(() => prepare(fields)).toThrow(message)
})

it('shortens vectors only on matryoshka models, and accepts every model’s own length', () => {
  expect(prepare({ dimensions: 1 }).dimensions).toBe(1)
  expect(prepare({ model: 'fixed', dimensions: 256 }).dimensions).toBe(256)
})

it('checks the model before the input', () => {
  expect(() => prepare({ model: 'chats', input: [1] })).toThrow(
    expect.objectContaining({ code: 'model_not_found', message: "The model 'chats' does not embed." }),
  )
  expect(() => prepare({ model: 'unknown', input: [] })).toThrow("Unknown model 'unknown'")
})
