import { request, type ClientRequest } from 'node:http'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { runs } from '#test/support/long.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'

// Callers with next to no credits hold what is bounded. A new account is served beside them.

/** Pays for one token, so that its bodies are read. */
const DUST = '0.000003'

let cluster: SharedCluster
const open: ClientRequest[] = []

beforeAll(async () => {
  cluster = await sharedCluster()
})
afterEach(() => {
  for (const upload of open.splice(0)) upload.destroy()
})

/** Sends a header and one byte of a body, and no more. Resolves when they have been sent. */
async function beginUpload(apiKey: string, headers: Record<string, string>): Promise<void> {
  const upload = request(`${cluster.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
    agent: false,
  })
  open.push(upload)
  upload.on('error', () => {})
  await new Promise((resolve) => upload.write('{', resolve))
}

async function post(apiKey: string, path: string, body: object): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const response = await fetch(`${cluster.baseUrl}/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  return response.status
}

const CHAT = { model: 'demo-chat', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 }
const words = (count: number) => ({ ...CHAT, messages: [{ role: 'user', content: 'word '.repeat(count) }] })

test.each<[string, (bytes: number) => Record<string, string>]>([
  ['announced', (bytes) => ({ 'content-length': String(bytes) })],
  ['chunked', () => ({ 'transfer-encoding': 'chunked' })],
  ['compressed', (bytes) => ({ 'content-length': String(bytes), 'content-encoding': 'br' })],
])(
  'silent uploads of twelve poor accounts lock out no body, small or large: %s',
  async (_name, headersOf) => {
    const poor = await Promise.all(Array.from({ length: 12 }, async () => await cluster.createAccount(DUST)))
    const fresh = await cluster.createAccount('5')
    for (let at = 0; at < runs(13, 600); at += 1) {
      const { apiKey } = poor[at % poor.length] ?? fresh
      await beginUpload(apiKey, headersOf(Math.max(32 * 2 ** (20 - at), 32_768)))
    }
    const large = { ...CHAT, padding: 'x'.repeat(8 * 1_048_576) }
    for (const body of [CHAT, large, CHAT, CHAT])
      expect(await post(fresh.apiKey, 'chat/completions', body)).toBe(200)
  },
)

test('tokens are not counted without credits', async () => {
  const { id } = await cluster.admin.call(ADMIN.createAccount, { name: 'test' })
  const { secret } = await cluster.admin.call(ADMIN.createKey, { account: id, name: 'test' })
  expect(await post(secret, 'messages/count_tokens', CHAT)).toBe(402)
  expect(await post(secret, 'messages/count_tokens', words(10_000))).toBe(402)
  expect(await post(secret, 'responses/input_tokens', { model: CHAT.model, input: 'Hi' })).toBe(402)
})

test('accounts that count without pause leave counts to another account', async () => {
  const poor = await Promise.all(Array.from({ length: 4 }, async () => await cluster.createAccount(DUST)))
  const fresh = await cluster.createAccount('5')
  const end = new AbortController()
  const flood = poor.flatMap(({ apiKey }) =>
    Array.from({ length: 16 }, async () => {
      const statuses = new Set<number>()
      while (!end.signal.aborted) statuses.add(await post(apiKey, 'messages/count_tokens', words(500)))
      return [...statuses]
    }),
  )
  const own: number[] = []
  for (let at = 0; at < runs(8, 40); at += 1)
    own.push(await post(fresh.apiKey, 'messages/count_tokens', CHAT))
  end.abort()
  const statuses = new Set((await Promise.all(flood)).flat())
  expect(own).toEqual(own.map(() => 200))
  // An account may be refused only because it counts too much.
  expect([200, 429]).toEqual(expect.arrayContaining([...statuses]))
})
