import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createAdmin } from '#apps/ctl/admin.ts'
import { CommandError } from '#apps/ctl/command-error.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown

/** Starts a server in billing's place and returns its URL. */
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

async function failure(listener: Listener, silenceMs = 60_000): Promise<[string, string]> {
  const url = await serve(listener)
  try {
    await createAdmin({ url, token: 'x' }).ask(ADMIN.whoAmI, {}, { silenceMs })
  } catch (error) {
    if (error instanceof CommandError) return [error.kind, error.message.replace(url, 'URL')]
    throw error
  }
  throw new Error('it answered')
}

const errorOf = (code: string) =>
  JSON.stringify({ error: { message: 'Its words.', type: 'api_error', code } })

test('a request is sent with its token, path, query and body', async () => {
  const seen: unknown[] = []
  const url = await serve(async (request, response) => {
    const { method, headers } = request
    seen.push([method, request.url, headers.authorization, await text(request)])
    response.end('{"amountNano":"9007199254740993"}')
  })
  const admin = createAdmin({ url: `${url}/`, token: 'a-token' })
  const answer = await admin.ask(ADMIN.publishCatalog, { models: [], reason: 'näe', dryRun: false })
  expect(answer).toEqual({ amountNano: '9007199254740993' })
  expect(seen).toEqual([
    ['POST', '/admin/v1/catalog?dryRun=false', 'Bearer a-token', '{"models":[],"reason":"näe"}'],
  ])
})

test('a refusal has the message of billing', async () => {
  expect(await failure(answerWith(409, errorOf('conflict')))).toEqual(['refused', 'Its words. (conflict)'])
})

test('an unavailable billing is no refusal', async () => {
  expect(await failure(answerWith(503, errorOf('unavailable')))).toEqual([
    'unreachable',
    'Its words. (unavailable)',
  ])
})

test('an answer of another server is recognized', async () => {
  expect(await failure(answerWith(404, '<html>not here</html>'))).toEqual([
    'unreachable',
    'URL answered 404, and not with an error of billing.',
  ])
  expect(await failure(answerWith(200, '<html>welcome</html>'))).toEqual([
    'unreachable',
    'URL did not answer with JSON.',
  ])
})

test('silence is given up, before an answer and within one', async () => {
  const silent = ['unreachable', 'URL does not answer: it sent nothing for 0.05 s']
  expect(await failure(() => undefined, 50)).toEqual(silent)
  const half = (_request: IncomingMessage, response: ServerResponse) => void response.write('{')
  expect((await failure(half, 50))[0]).toBe('unreachable')
})

test('an answer that is cut off is an error', async () => {
  const cut = (_request: IncomingMessage, response: ServerResponse) => {
    response.write('{}', () => response.destroy())
  }
  expect((await failure(cut))[0]).toBe('unreachable')
  const url = await serve(cut)
  const answer = await createAdmin({ url, token: 'x' }).open(ADMIN.whoAmI, {})
  await expect(Array.fromAsync(answer)).rejects.toThrow('aborted')
})
