import { expect, test } from 'vitest'
import { always, CHAT, END, failing, serveApp, STREAM, text } from './gateway-app.ts'

const PAGE = 'https://chat.example.com'
const core = always([text('Hi'), END])

const corsOf = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'))

const EXPOSED = 'x-request-id, x-client-request-id, retry-after, preference-applied, x-responses-events'
const NAMED = {
  'access-control-allow-origin': PAGE,
  'access-control-expose-headers': EXPOSED,
  vary: 'Origin',
}

const preflight = async (url: string, origin = PAGE) =>
  await fetch(`${url}/chat/completions`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    },
  })

test('without allowed origins no answer has a header of CORS, and a preflight is no operation', async () => {
  const { url, chat } = await serveApp(core)
  const response = await chat(CHAT, { headers: { origin: PAGE } })
  expect([response.status, corsOf(response)]).toEqual([200, {}])
  const refused = await preflight(url)
  expect([refused.status, corsOf(refused)]).toEqual([404, {}])
})

test('a preflight of an allowed origin allows the headers that it asks for, without a key', async () => {
  const { url } = await serveApp(core, {}, { allowedOrigins: ['https://other.example', PAGE] })
  const response = await preflight(url)
  expect([response.status, await response.text(), corsOf(response)]).toEqual([
    204,
    '',
    {
      ...NAMED,
      'access-control-allow-methods': 'GET, HEAD, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-lang',
      'access-control-max-age': '7200',
      vary: 'Origin, Access-Control-Request-Headers',
    },
  ])
})

test('whole answers, streams, errors of every step and cut streams name the origin', async () => {
  const { url, chat } = await serveApp(core, {}, { allowedOrigins: [PAGE] })
  const headers = { origin: PAGE }
  const responses = {
    whole: await chat(CHAT, { headers }),
    stream: await chat(STREAM, { headers }),
    'wrong key': await chat(CHAT, { headers: { ...headers, authorization: 'Bearer x' } }),
    'wrong body': await chat('nonsense', { headers }),
    'unknown path': await fetch(`${url}/nope`, { headers }),
    health: await fetch(new URL('/health', url), { headers }),
  }
  expect(Object.fromEntries(Object.entries(responses).map(([name, { status }]) => [name, status]))).toEqual({
    whole: 200,
    stream: 200,
    'wrong key': 401,
    'wrong body': 400,
    'unknown path': 404,
    health: 200,
  })
  for (const response of Object.values(responses)) {
    expect(corsOf(response)).toEqual(NAMED)
    await response.text()
  }
  const broken = await serveApp(
    failing(new Error('test: broken'), [text('a')]),
    {},
    { allowedOrigins: [PAGE] },
  )
  const cut = await broken.chat(STREAM, { headers })
  expect(corsOf(cut)).toEqual(NAMED)
  expect(await cut.text()).toContain('upstream_error')
})

test('another origin is named on no answer, which says that answers differ by origin', async () => {
  const { url, chat } = await serveApp(core, {}, { allowedOrigins: [PAGE] })
  for (const origin of ['https://evil.example', 'null', `${PAGE}.evil.example`, `${PAGE}:8443`]) {
    for (const response of [await chat(CHAT, { headers: { origin } }), await preflight(url, origin)]) {
      expect(corsOf(response)).not.toHaveProperty('access-control-allow-origin')
      expect(response.headers.get('vary')).toMatch(/^Origin/)
    }
  }
  expect(corsOf(await chat(CHAT))).not.toHaveProperty('access-control-allow-origin')
})

test('where all origins are allowed, no answer depends on the origin, and none allows credentials', async () => {
  const { url, chat } = await serveApp(core, {}, { allowedOrigins: ['*'] })
  const open = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }
  expect(corsOf(await chat(CHAT, { headers: { origin: 'null' } }))).toEqual(open)
  expect(corsOf(await preflight(url))).toMatchObject({ ...open, vary: 'Access-Control-Request-Headers' })
})

test('while the gateway stops, a page can read when to try again', async () => {
  const { chat, drain } = await serveApp(core, {}, { allowedOrigins: [PAGE] })
  await drain()
  const response = await chat(CHAT, { headers: { origin: PAGE } })
  expect([response.status, corsOf(response)]).toEqual([503, NAMED])
})
