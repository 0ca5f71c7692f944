import { expect, it } from 'vitest'
import { always, AUTHORIZED, END, MODEL, NARROW, serveApp, text } from './gateway-app.ts'

const core = always([text('Hi'), END])

const messages = [{ role: 'user', content: 'Hi' }]

/** Fields that make a body large enough to be prepared on a thread. */
const large = { user: 'x'.repeat(70_000) }

const OPERATIONS: [path: string, body: object, model: string][] = [
  ['chat/completions', { messages }, MODEL],
  ['chat/completions', { messages, stream: true }, MODEL],
  ['chat/completions', { messages, ...large }, MODEL],
  ['responses', { input: 'Hi' }, MODEL],
  ['responses', { input: 'Hi', ...large }, MODEL],
  ['completions', { prompt: 'Hi' }, MODEL],
  ['completions', { prompt: 'Hi', ...large }, MODEL],
  ['embeddings', { input: 'Hi' }, 'vectors'],
  ['embeddings', { input: 'Hi', ...large }, 'vectors'],
]

it.each(OPERATIONS)(
  "%s: a model outside a key's list is refused like one that does not exist",
  async (path, body, model) => {
    const { url } = await serveApp(core)
    const ask = async (name: string) => {
      const response = await fetch(`${url}/${path}`, {
        method: 'POST',
        headers: NARROW,
        body: JSON.stringify({ ...body, model: name }),
      })
      return { status: response.status, body: await response.text() }
    }
    const unknown = await ask('no-such-model')
    expect(unknown.status).toBe(404)
    expect(await ask(model)).toEqual({ ...unknown, body: unknown.body.replace('no-such-model', model) })
  },
)

it("a key's own models are served, from small bodies and large ones", async () => {
  const { chat } = await serveApp(core)
  const own = { model: 'plain', messages }
  for (const body of [own, { ...own, ...large }]) {
    expect((await chat(body, { headers: NARROW })).status).toBe(200)
  }
})

it('a key with a list of models sees those of them that the catalog has, and other keys see all', async () => {
  const { url } = await serveApp(core)
  const list = async (headers: Record<string, string>): Promise<string[]> => {
    const { data }: { data: { id: string }[] } = JSON.parse(
      await (await fetch(`${url}/models`, { headers })).text(),
    )
    return data.map(({ id }) => id)
  }
  expect(await list(NARROW)).toEqual(['plain'])
  expect(await list(AUTHORIZED)).toEqual([MODEL, 'plain', 'vectors'])
})

it('a model outside the list is 404, and so is a model of the list that the catalog does not have', async () => {
  const { url } = await serveApp(core)
  const describe = async (id: string) => {
    const response = await fetch(`${url}/models/${id}`, { headers: NARROW })
    return [response.status, await response.text()]
  }
  for (const id of [MODEL, 'gone', 'no-such-model']) {
    const error = { message: `Unknown model '${id}'`, type: 'api_error', code: 'model_not_found' }
    expect(await describe(id)).toEqual([404, JSON.stringify({ error })])
  }
  expect(await describe('plain')).toMatchObject([200, expect.stringContaining('"id":"plain"')])
})
