import { expect, it } from 'vitest'
import { always, AUTHORIZED, CATALOG, CHAT, END, serveApp } from './gateway-app.ts'

const object = { id: 'org/demo', object: 'model', created: 1_700_000_000, owned_by: 'millrace' }

it('lists the catalog', async () => {
  const { url } = await serveApp(always([END]))
  const body: unknown = await (await fetch(`${url}/models`, { headers: AUTHORIZED })).json()
  expect(body).toEqual({ object: 'list', data: CATALOG.map(({ id }) => ({ ...object, id })) })
})

it.each(['org/demo', 'org%2Fdemo', 'org%2fdemo', 'org/demo?x=1'])(
  'describes the model at /models/%s',
  async (path) => {
    const { url } = await serveApp(always([END]))
    const response = await fetch(`${url}/models/${path}`, { headers: AUTHORIZED })
    expect([response.status, await response.json()]).toEqual([200, object])
  },
)

it.each([
  ['nope-1', 'nope-1'],
  ['no%20pe/1', 'no pe/1'],
  ['x'.repeat(200), 'x'.repeat(200)],
  ['x'.repeat(300), `${'x'.repeat(200)}…`],
])('says that /models/%s is unknown', async (path, id) => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(`${url}/models/${path}`, { headers: AUTHORIZED })
  expect([response.status, await response.json()]).toEqual([
    404,
    { error: { message: `Unknown model '${id}'`, type: 'api_error', code: 'model_not_found' } },
  ])
})

it('lists the catalog at an address with a slash at its end, which base URLs often have', async () => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(`${url}/models/`, { headers: AUTHORIZED })
  expect([response.status, await response.json()]).toMatchObject([200, { object: 'list' }])
})

it('answers HEAD without a body', async () => {
  const { url } = await serveApp(always([END]))
  const response = await fetch(`${url}/models`, { method: 'HEAD', headers: AUTHORIZED })
  expect([response.status, await response.text()]).toEqual([200, ''])
})

it('lists the catalog for a key that cannot be checked at the moment', async () => {
  const { url, chat } = await serveApp(always([END]))
  const headers = { authorization: 'Bearer unchecked' }
  for (const path of ['/models', '/models/org/demo']) {
    expect((await fetch(url + path, { headers })).status).toBe(200)
  }
  expect((await fetch(`${url}/models/nope`, { headers })).status).toBe(404)
  expect((await chat(CHAT, { headers })).status).toBe(503)
})
