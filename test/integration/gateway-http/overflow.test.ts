import { expect, it } from 'vitest'
import { ApiError } from '#libs/contracts/api-error.ts'
import { toOverflowMessage } from '#libs/contracts/context-overflow.ts'
import { always, AUTHORIZED, END, failing, MODEL, serveApp, text } from './gateway-app.ts'

/** More bytes than a whole context window of the largest tokens has. */
const OVERSIZED = 'word '.repeat(500_000)

const message = toOverflowMessage({ contextWindow: 8_192, tokens: 9_000 })
const found = new ApiError('context_length_exceeded', message)

it.each([
  ['chat/completions', { messages: [{ role: 'user', content: OVERSIZED }] }, 'messages'],
  ['completions', { prompt: OVERSIZED }, 'prompt'],
  ['responses', { input: OVERSIZED }, 'input'],
  ['embeddings', { model: 'vectors', input: ['x', OVERSIZED] }, 'input[1]'],
])('%s names a prompt that cannot fit by the code and words that clients know', async (path, body, param) => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(`${url}/${path}`, {
    method: 'POST',
    headers: AUTHORIZED,
    body: JSON.stringify({ model: MODEL, ...body }),
  })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({
    error: {
      code: 'context_length_exceeded',
      type: 'api_error',
      message: expect.stringMatching(
        /is too long: at least \d+ tokens > \d+ maximum. It exceeds the context window\. This model's maximum context length is \d+ tokens/,
      ),
      param,
    },
  })
})

it.each([
  ['chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }, 'messages'],
  ['completions', { prompt: 'Hi' }, 'prompt'],
  ['responses', { input: 'Hi' }, 'input'],
])(
  '%s answers what a worker finds too long the same way, whole and in a stream',
  async (path, body, param) => {
    const error = { code: 'context_length_exceeded', type: 'api_error', message, param }
    const ask = async (generate: ReturnType<typeof failing>, stream: boolean) => {
      const { url } = await serveApp(generate)
      const init = {
        method: 'POST',
        headers: AUTHORIZED,
        body: JSON.stringify({ model: MODEL, stream, ...body }),
      }
      return await fetch(`${url}/${path}`, init)
    }
    for (const stream of [false, true]) {
      const refused = await ask(failing(found), stream)
      expect(refused.status).toBe(400)
      expect(await refused.json()).toEqual({ error })
    }
    const cut = await ask(failing(found, [text('a')]), true)
    const events = (await cut.text()).split('\n').filter((line) => line.startsWith('data: {'))
    const last: unknown = JSON.parse(events.at(-1)?.slice('data: '.length) ?? '')
    expect(last).toMatchObject(
      path === 'responses'
        ? { type: 'response.failed', response: { error: { code: error.code, message } }, error }
        : { error },
    )
  },
)
