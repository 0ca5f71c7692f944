import { expect, it } from 'vitest'
import { always, AUTHORIZED, CATALOG, CHAT, END, KEY, serveApp } from './gateway-app.ts'

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

it('lists and describes the catalog in Anthropic’s shape for its clients, in pages if they ask for them', async () => {
  const { url } = await serveApp(always([END]))
  const headers = { 'x-api-key': KEY, 'anthropic-version': '2023-06-01' }
  const get = async (path: string) => {
    const response = await fetch(`${url}/models${path}`, { headers })
    return [response.status, await response.json()]
  }
  const ids = CATALOG.map(({ id }) => id)
  const shape = (id: string) => ({
    type: 'model',
    id,
    display_name: id,
    created_at: '2023-11-14T22:13:20.000Z',
  })
  const page = (listed: readonly string[], more: boolean) => [
    200,
    { data: listed.map(shape), has_more: more, first_id: listed[0] ?? null, last_id: listed.at(-1) ?? null },
  ]
  expect(await get('?limit=1000')).toEqual(page(ids, false))
  expect(await get('?limit=1')).toEqual(page(ids.slice(0, 1), ids.length > 1))
  expect(await get(`?after_id=${ids[0]}`)).toEqual(page(ids.slice(1), false))
  expect(await get(`?before_id=${ids[0]}`)).toEqual(page([], false))
  expect(await get('/org/demo')).toEqual([200, shape('org/demo')])
  expect(await get('/nope')).toMatchObject([404, { type: 'error', error: { type: 'not_found_error' } }])
  expect(await get('?limit=0')).toMatchObject([400, { error: { param: 'limit' } }])
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
