import { expect, it } from 'vitest'
import type { Generate } from '#apps/gateway/generation/request/generation-call.ts'
import { ApiError } from '#libs/contracts/api-error.ts'
import { AUTHORIZED, createFedCore, END, failing, MODEL, serveApp, USAGE } from './gateway-app.ts'

const BODY = { model: 'vectors', input: ['a', 'b'] }
const VECTOR = Float32Array.of(0.5, 0.5, 0.5, 0.5, 0, 0, 0, 0)

async function post(generate: Generate, body: object = BODY) {
  const { url } = await serveApp(generate)
  const response = await fetch(`${url}/embeddings`, {
    method: 'POST',
    headers: AUTHORIZED,
    body: JSON.stringify(body),
  })
  const retryAfter = response.headers.get('retry-after')
  return { status: response.status, retryAfter, body: await response.json() }
}

/** Returns a core whose generations end after this many vectors, in batches of one. */
const embedding =
  (count: number): Generate =>
  async (call, send) => {
    for (let index = 0; index < count; index += 1) call.onVectors?.([VECTOR])
    send([END])
  }

it('answers with one entry an input, shortened as the caller asks', async () => {
  const half = Math.fround(Math.SQRT1_2)
  expect(await post(embedding(2), { ...BODY, dimensions: 2 })).toMatchObject({
    status: 200,
    body: {
      object: 'list',
      data: [
        { object: 'embedding', index: 0, embedding: [half, half] },
        { object: 'embedding', index: 1, embedding: [half, half] },
      ],
      model: 'vectors',
      usage: { prompt_tokens: USAGE.promptTokens, total_tokens: USAGE.promptTokens },
    },
  })
})

it('says that a backend which failed is unavailable: the operation has no 502', async () => {
  const failed = await post(failing(new ApiError('upstream_error', 'The generation was interrupted.')))
  expect(failed).toMatchObject({ status: 503, body: { error: { code: 'model_unavailable' } } })
  expect(Number(failed.retryAfter)).toBeGreaterThan(0)
})

it.each([1, 3])('gives no answer with %i vectors for two inputs', async (count) => {
  expect(await post(embedding(count))).toMatchObject({ status: 503 })
})

it('hands the core nothing that it refuses: models that chat, bodies without input', async () => {
  const core = createFedCore()
  const chat = await post(core.generate, { ...BODY, model: MODEL })
  expect(chat).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } })
  const without = await post(core.generate, { model: 'vectors' })
  expect(without).toMatchObject({ status: 400, body: { error: { param: 'input' } } })
  expect(core.calls).toEqual([])
})
