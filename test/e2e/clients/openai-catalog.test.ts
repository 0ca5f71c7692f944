import OpenAI, { NotFoundError } from 'openai'
import { expect } from 'vitest'
import { expectBalancedBooks } from '../../support/books.ts'
import { test, type ClientAccess } from '../../support/client-test.ts'

const connect = ({ baseUrl, apiKey, fetch }: ClientAccess) =>
  new OpenAI({ baseURL: baseUrl, apiKey, fetch, maxRetries: 0 })

test('models are listed and found, ids with a slash too', async ({ access }) => {
  const openai = connect(access)
  const models = await Array.fromAsync(openai.models.list())
  expect(models.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['demo-chat', 'millrace/demo-chat', 'demo-reasoning', 'demo-embed']),
  )
  for (const model of models) expect(await openai.models.retrieve(model.id)).toEqual(model)
})

test('embeddings arrive as base64 unless floats are asked for, and are the same numbers', async ({
  access,
}) => {
  const openai = connect(access)
  const call = { model: 'demo-embed', input: ['a mill', 'a race', 'a river'] }
  const byDefault = await openai.embeddings.create(call)
  const floats = await openai.embeddings.create({ ...call, encoding_format: 'float' })
  expect(access.exchanges.map(({ body }) => body)).toMatchObject([
    { encoding_format: 'base64' },
    { encoding_format: 'float' },
  ])
  expect(byDefault.data.map(({ index }) => index)).toEqual([0, 1, 2])
  expect(byDefault.data.map(({ embedding }) => toFloat32(embedding))).toEqual(
    floats.data.map(({ embedding }) => toFloat32(embedding)),
  )
  expect(new Set(floats.data.map(({ embedding }) => String(embedding))).size).toBe(3)
  expect(byDefault.usage).toEqual(floats.usage)
  expect(byDefault.usage.prompt_tokens).toBeGreaterThan(0)
})

test('a model that does not embed raises NotFoundError', async ({ access }) => {
  const call = connect(access).embeddings.create({ model: 'demo-chat', input: 'a mill' })
  await expect(call).rejects.toMatchObject({ status: 404, code: 'model_not_found' })
  await expect(call).rejects.toBeInstanceOf(NotFoundError)
})

test('embeddings are charged, and the books are balanced', async ({ access, cluster, account }) => {
  const before = await cluster.balance(account)
  await connect(access).embeddings.create({ model: 'demo-embed', input: 'a mill' })
  await expectBalancedBooks(cluster, [account])
  expect((await cluster.balance(account)).posted).toBeLessThan(before.posted)
})

const toFloat32 = (numbers: readonly number[]) => Array.from(new Float32Array(numbers))
