import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createAdmin, pathOf } from '#apps/ctl/admin.ts'
import { CommandError } from '#apps/ctl/command-error.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** What answers in billing's place, and its URL. */
async function serve(listener: Listener): Promise<string> {
  const server = createServer((request, response) => void listener(request, response))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('it has no port')
  return `http://127.0.0.1:${address.port}`
}

const answerWith =
  (status: number, body: string) =>
  (_request: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status).end(body)

const GET = { method: 'GET', path: '/me' } as const

async function failure(listener: Listener, patienceMs?: number): Promise<[string, string]> {
  const url = await serve(listener)
  try {
    await createAdmin({ url, token: 'x' }).ask({
      ...GET,
      ...(patienceMs === undefined ? {} : { patienceMs }),
    })
  } catch (error) {
    if (error instanceof CommandError) return [error.kind, error.message.replace(url, 'URL')]
    throw error
  }
  throw new Error('it answered')
}

const errorOf = (code: string) =>
  JSON.stringify({ error: { message: 'Its words.', type: 'api_error', code } })

test('a request has its token, path, query and body, and nothing that is undefined', async () => {
  const seen: unknown[] = []
  const url = await serve(async (request, response) => {
    const { method, headers } = request
    seen.push([method, request.url, headers.authorization, await text(request)])
    response.end('{"amountNano":"9007199254740993"}')
  })
  const admin = createAdmin({ url: `${url}/`, token: 'a-token' })
  const answer = await admin.ask({
    method: 'POST',
    path: pathOf`/accounts/${'../credentials?x'}/close`,
    query: { limit: 5, cursor: undefined, whole: false },
    body: { reason: 'näe', name: undefined },
  })
  expect(answer).toEqual({ amountNano: '9007199254740993' })
  expect(seen).toEqual([
    [
      'POST',
      '/admin/v1/accounts/..%2Fcredentials%3Fx/close?limit=5&whole=false',
      'Bearer a-token',
      '{"reason":"näe"}',
    ],
  ])
})

test('a refusal is told in the words of billing', async () => {
  expect(await failure(answerWith(409, errorOf('conflict')))).toEqual(['refused', 'Its words. (conflict)'])
})

test('a billing that cannot answer has not refused', async () => {
  expect(await failure(answerWith(503, errorOf('unavailable')))).toEqual([
    'unreachable',
    'Its words. (unavailable)',
  ])
})

test('something else in the place of billing is told apart', async () => {
  expect(await failure(answerWith(404, '<html>not here</html>'))).toEqual([
    'unreachable',
    'URL answered 404, but not as billing does.',
  ])
  expect(await failure(answerWith(200, '<html>welcome</html>'))).toEqual([
    'unreachable',
    'URL did not answer with JSON.',
  ])
})

test('silence ends after the patience, before an answer and within one', async () => {
  const silent = ['unreachable', 'URL does not answer: it said nothing for 0.05 s']
  expect(await failure(() => undefined, 50)).toEqual(silent)
  const half = (_request: IncomingMessage, response: ServerResponse) => void response.write('{')
  expect((await failure(half, 50))[0]).toBe('unreachable')
})

test('an answer that is cut off is no whole one', async () => {
  const cut = (_request: IncomingMessage, response: ServerResponse) => {
    response.write('{}', () => response.destroy())
  }
  expect((await failure(cut))[0]).toBe('unreachable')
  const url = await serve(cut)
  const answer = await createAdmin({ url, token: 'x' }).open(GET)
  await expect(Array.fromAsync(answer)).rejects.toThrow('aborted')
})
