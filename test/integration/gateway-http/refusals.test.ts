import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text as readAll } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { always, AUTHORIZED, CHAT, END, MODEL, serveApp, STREAM } from './gateway-app.ts'

const core = always([END])

/** Returns status and code of an error, after a check of the headers and fields that every error has. */
async function errorOf(response: Response): Promise<[number, unknown]> {
  const body: unknown = await response.json()
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  expect(body).toMatchObject({ error: { message: expect.any(String), type: 'api_error' } })
  return [response.status, z.object({ error: z.object({ code: z.string() }) }).parse(body).error.code]
}

describe('authentication', () => {
  it.each([
    ['GET', '/models'],
    ['GET', `/models/${MODEL}`],
    ['POST', '/chat/completions'],
  ])('comes first on %s %s', async (method, path) => {
    const { url } = await serveApp(core)
    for (const authorization of [undefined, 'Bearer wrong', 'Basic abc', 'Bearer ']) {
      const headers = authorization === undefined ? {} : { authorization }
      const body = method === 'POST' ? '{nope' : null
      const response = await fetch(url + path, { method, headers, body })
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(await errorOf(response)).toEqual([401, 'invalid_key'])
    }
  })
})

describe('a body', () => {
  it.each(['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'nonsense', ''])(
    'of content type %j is read as JSON',
    async (type) => {
      const { chat } = await serveApp(core)
      expect((await chat(CHAT, { headers: { 'content-type': type } })).status).toBe(200)
    },
  )

  it.each(['', '{nope', '[1]', 'null'])('of %j is 400', async (body) => {
    const { chat } = await serveApp(core)
    expect(await errorOf(await chat(body))).toEqual([400, 'invalid_request'])
  })

  it('that is absent is 400', async () => {
    const { url } = await serveApp(core)
    const init = { method: 'POST', headers: AUTHORIZED }
    expect(await errorOf(await fetch(`${url}/chat/completions`, init))).toEqual([400, 'invalid_request'])
  })

  it('of up to 32 MiB is read', async () => {
    const { chat } = await serveApp(core)
    const padding = 'x'.repeat(32 * 1_048_576 - JSON.stringify({ ...CHAT, padding: '' }).length)
    expect((await chat({ ...CHAT, padding })).status).toBe(200)
    const refused = await chat({ ...CHAT, padding: `${padding}y` })
    expect(await refused.clone().text()).toContain('"The body must not be larger than 33,554,432 bytes."')
    expect(await errorOf(refused)).toEqual([413, 'invalid_request'])
  })

  it('without a content-length is 413 too when it is too large, also on a connection to be closed', async () => {
    const { port } = await serveApp(core, { bodyBytes: 1_000 })
    for (const connection of ['keep-alive', 'close']) {
      const upload = httpRequest({
        port,
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { ...AUTHORIZED, connection, 'transfer-encoding': 'chunked' },
      })
      const answered = new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        upload.once('error', reject)
        upload.once('response', (response) => {
          readAll(response).then((body) => resolve({ status: response.statusCode, body }), reject)
        })
      })
      const chunk = 'x'.repeat(65_536)
      for (let sent = 0; sent < 64; sent += 1) upload.write(chunk)
      upload.end()
      expect(await answered).toEqual({ status: 413, body: expect.stringContaining('invalid_request') })
    }
  })

  it.each(['keep-alive', 'close'])(
    'may still be uploading when it is refused over %s',
    async (connection) => {
      const { port } = await serveApp(core)
      for (const [path, status] of [
        ['/v1/chat/completions', 401],
        ['/v1/nowhere', 404],
      ]) {
        const bytes = 16 * 1_048_576
        const socket = connect(port, '127.0.0.1')
        socket.write(
          `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: ${connection}\r\ncontent-length: ${bytes}\r\n\r\n`,
        )
        // Like many clients, this one does not read before it has sent everything.
        await new Promise((resolve) => socket.write(Buffer.alloc(bytes), resolve))
        const [answer] = await once(socket, 'data')
        expect(String(answer)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
        socket.destroy()
      }
    },
  )
})

describe('an unexpected failure', () => {
  it('is a 502 only on operations that list it', async () => {
    const { chat, url } = await serveApp(core)
    const headers = { authorization: 'Bearer broken' }
    expect(await errorOf(await chat(CHAT, { headers }))).toEqual([502, 'upstream_error'])
    expect(await errorOf(await fetch(`${url}/models`, { headers }))).toEqual([503, 'model_unavailable'])
  })
})

describe('fields', () => {
  it.each([
    ['no model', { messages: CHAT.messages }, 400, 'invalid_request'],
    ['null model', { ...CHAT, model: null }, 400, 'invalid_request'],
    ['a model that is no text', { ...CHAT, model: 5 }, 400, 'invalid_request'],
    ['no messages', { model: MODEL }, 400, 'invalid_request'],
    ['no messages of an unknown model', { model: 'nope' }, 400, 'invalid_request'],
    ['an unknown model, before its other fields', { ...CHAT, model: 'nope', n: 2 }, 404, 'model_not_found'],
    ['a model that does not chat', { ...CHAT, model: 'vectors' }, 404, 'model_not_found'],
    ['an unknown effort', { ...CHAT, reasoning_effort: 'medium' }, 400, 'invalid_request'],
    ['n above 8', { ...CHAT, n: 9 }, 400, 'invalid_request'],
    ['a stream of an unknown model', { ...STREAM, model: 'nope' }, 404, 'model_not_found'],
    [
      'tools on a model without them',
      { ...CHAT, model: 'plain', tools: [{ type: 'function', function: { name: 'f' } }] },
      400,
      'invalid_request',
    ],
  ] as const)('with %s are refused', async (...[, body, status, code]) => {
    const { chat } = await serveApp(core)
    expect(await errorOf(await chat(body))).toEqual([status, code])
  })

  it('are named by their path when they are wrong', async () => {
    const { chat } = await serveApp(core)
    const response = await chat({ ...CHAT, temperature: 3 })
    expect(await response.json()).toEqual({
      error: {
        message: `'temperature': expected a number from 0 to 2.`,
        type: 'api_error',
        code: 'invalid_request',
        param: 'temperature',
      },
    })
  })
})

describe('a refusal', () => {
  const LONG = 'x'.repeat(100_000)
  /** The longest name that is accepted. */
  const NAME = 'x'.repeat(256)
  const forced = { tools: [{ type: 'function', function: { name: 'f' } }], tool_choice: { type: 'function' } }
  const schema = { properties: { [LONG]: { type: 'cow' } } }

  it.each([
    ['a model', '/chat/completions', { ...CHAT, model: LONG }],
    ['the name of an entry', '/chat/completions', { ...CHAT, logit_bias: { [LONG]: 1 } }],
    ['the type of a tool', '/chat/completions', { ...CHAT, tool_choice: { type: NAME } }],
    [
      'a function',
      '/chat/completions',
      { ...CHAT, ...forced, tool_choice: { type: 'function', name: NAME } },
    ],
    [
      'a place in a schema',
      '/chat/completions',
      { ...CHAT, response_format: { type: 'json_schema', schema } },
    ],
    ['the type of an item', '/responses', { model: MODEL, input: [{ type: LONG }] }],
    ['the id of an item', '/responses', { model: MODEL, input: [{ type: 'item_reference', id: NAME }] }],
    ['a path', `/${LONG.slice(0, 10_000)}`, {}],
  ])('repeats no more of %s than identifies it', async (_what, path, body) => {
    const { url } = await serveApp(core)
    const init = { method: 'POST', headers: AUTHORIZED, body: JSON.stringify(body) }
    const answer = await (await fetch(url + path, init)).text()
    expect(answer).toContain('x'.repeat(100))
    expect(answer.length).toBeLessThan(1_000)
  })

  it('repeats whole characters only', async () => {
    const { chat } = await serveApp(core)
    const answer = await (await chat({ ...CHAT, model: `${'x'.repeat(199)}🙂` })).text()
    expect(answer).toContain("x�…'")
  })

  it.each([
    [{ logit_bias: { 5: 101 } }, "'logit_bias.5': expected a number from -100 to 100."],
    [{ logit_bias: { 5: 'x' } }, "'logit_bias.5': expected a number from -100 to 100."],
    [
      { effort: 'low', reasoning_effort: 'high' },
      "'effort' and 'reasoning_effort' differ: expected one of them, or the same value in both.",
    ],
  ])('of %j says what is allowed', async (...[fields, message]) => {
    const { chat } = await serveApp(core)
    expect(await (await chat({ ...CHAT, ...fields })).json()).toMatchObject({ error: { message } })
  })
})

describe('an unknown operation', () => {
  it.each([
    ['GET', '/v1/nowhere'],
    ['GET', '/'],
    ['DELETE', '/v1/models'],
    ['GET', '/v1/chat/completions'],
    ['PUT', '/v1/chat/completions'],
  ])('%s %s is 404 with the error object', async (method, path) => {
    const { url } = await serveApp(core)
    expect(await errorOf(await fetch(new URL(path, url), { method }))).toEqual([404, 'invalid_request'])
  })

  it('is not a malformed path, which is 400', async () => {
    const { url } = await serveApp(core)
    expect(await errorOf(await fetch(`${url}/models/%zz`, { headers: AUTHORIZED }))).toEqual([
      400,
      'invalid_request',
    ])
  })

  it('is not a request that is not HTTP, which is 400', async () => {
    const { port } = await serveApp(core)
    const socket = connect(port, '127.0.0.1')
    socket.write('NOT HTTP\r\n\r\n')
    const answer = await readAll(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
    expect(answer).toContain('"type":"api_error","code":"invalid_request"')
  })
})

describe('the request id', () => {
  it('is generated; a well-formed id of the caller is echoed beside it', async () => {
    const { chat } = await serveApp(core)
    for (const body of [CHAT, STREAM, {}]) {
      const response = await chat(body, { headers: { 'x-request-id': 'mine-1' } })
      expect(response.headers.get('x-client-request-id')).toBe('mine-1')
      expect(response.headers.get('x-request-id')).not.toBe('mine-1')
      await response.text()
    }
  })

  it('is on the answer to a malformed path as well', async () => {
    const { url } = await serveApp(core)
    const { headers } = await fetch(`${url}/models/%zz`, { headers: { 'x-request-id': 'mine-1' } })
    expect(headers.get('x-client-request-id')).toBe('mine-1')
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it.each(['two words', 'x'.repeat(129)])('of the caller is dropped when it is %j', async (id) => {
    const { chat } = await serveApp(core)
    const response = await chat(CHAT, { headers: { 'x-request-id': id } })
    expect(response.headers.has('x-client-request-id')).toBe(false)
  })
})

describe('a gateway that is closing', () => {
  it('refuses a request that is complete only then, with 503 and retry-after', async () => {
    const { app, port } = await serveApp(core)
    const socket = connect(port, '127.0.0.1')
    const accepted = new Promise((resolve) => app.server.once('connection', resolve))
    socket.write('GET /v1/models HTTP/1.1\r\n')
    await accepted
    const closed = app.close()
    await expect.poll(() => app.server.listening).toBe(false)
    socket.write(`host: x\r\nauthorization: ${AUTHORIZED.authorization}\r\n\r\n`)
    const answer = await readAll(socket)
    await closed
    expect(answer).toMatch(/^HTTP\/1\.1 503 /)
    expect(answer).toMatch(/\r\nretry-after: 1\r\n/i)
    expect(answer).toContain('"code":"model_unavailable"')
  })

  it('does not wait for connections that never carried a request', async () => {
    const { app, port } = await serveApp(core)
    const accepted = new Promise((resolve) => app.server.once('connection', resolve))
    const closed = once(connect(port, '127.0.0.1'), 'close')
    await accepted
    await app.close()
    expect(await closed).toEqual([false])
  })
})
