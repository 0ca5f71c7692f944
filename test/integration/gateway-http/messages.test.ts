import { describe, expect, it } from 'vitest'
import type { Generate } from '#apps/gateway/generation/request/generation-call.ts'
import { toNanoCredits } from '#libs/money/nano-credits.ts'
import { always, AUTHORIZED, CHAT, createFedCore, END, KEY, MODEL, serveApp, text } from './gateway-app.ts'

const BODY = { model: MODEL, max_tokens: 16, messages: CHAT.messages }

async function serve(core = always([text('Hi')], [END])) {
  const { url, seconds } = await serveApp(core)
  const post = async (path: string, body: unknown, headers: Record<string, string> = AUTHORIZED) =>
    await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { post, seconds }
}

describe('the key', () => {
  it('may be in x-api-key, on the operations of this interface only', async () => {
    const { post } = await serve()
    const headers = { 'x-api-key': KEY, 'anthropic-version': '2023-06-01', 'anthropic-beta': 'a,b' }
    expect((await post('/messages?beta=true', BODY, headers)).status).toBe(200)
    expect((await post('/messages/count_tokens?beta=true', BODY, headers)).status).toBe(200)
    expect((await post('/chat/completions', CHAT, headers)).status).toBe(401)
    expect((await post('/responses/input_tokens', { model: MODEL, input: 'x' }, headers)).status).toBe(401)
  })

  it('of the authorization header takes precedence', async () => {
    const { post } = await serve()
    expect((await post('/messages', BODY, { ...AUTHORIZED, 'x-api-key': 'wrong' })).status).toBe(200)
    expect((await post('/messages', BODY, { authorization: 'Bearer wrong', 'x-api-key': KEY })).status).toBe(
      401,
    )
  })
})

it('answers an unknown path of this interface with Anthropic’s error', async () => {
  const { post } = await serve()
  for (const [path, headers] of [
    ['/messages/batches', {}],
    ['/files', { 'anthropic-version': '2023-06-01' }],
  ] as const) {
    const response = await post(path, {}, headers)
    expect(response.headers.get('request-id')).toMatch(/./)
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { type: 'error', error: { type: 'not_found_error', message: expect.stringContaining(path) } },
    ])
  }
})

it('refuses with Anthropic’s error, which has our code and the field', async () => {
  const { post } = await serve()
  const response = await post('/messages', {
    ...BODY,
    messages: [{ role: 'user', content: [{ type: 'image' }] }],
  })
  expect(response.status).toBe(400)
  const { error, ...rest } = JSON.parse(await response.text())
  expect(rest).toEqual({ type: 'error', request_id: response.headers.get('request-id') })
  expect(error).toEqual({
    type: 'invalid_request_error',
    message: expect.stringContaining(`'image' are not supported`),
    code: 'invalid_request',
    param: 'messages[0].content[0].type',
  })
  expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
})

it('keeps a silent stream open with pings', async () => {
  const core = createFedCore()
  const { post, seconds } = await serve(core.generate)
  const called = core.nextCall()
  const answer = post('/messages', { ...BODY, stream: true })
  await called
  seconds(10)
  const response = await answer
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  core.feed([text('Hi')], [END])
  const events = (await response.text()).split('\n\n')
  expect(events[0]).toBe('event: ping\ndata: {"type":"ping"}')
  expect(events[1]).toMatch(/^event: message_start\n/)
})

it('counts a burst of prompts of one account, then refuses with retry-after', async () => {
  const { post } = await serve()
  const statuses: number[] = []
  let last: Response | null = null
  // Each address may count half of what its account may: 100 at once, and 10 a second.
  while (statuses.at(-1) !== 429 && statuses.length < 1_000) {
    last = await post('/messages/count_tokens', BODY)
    statuses.push(last.status)
    await last.text()
  }
  expect(statuses.length).toBeGreaterThan(100)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
})

it.each(['/messages/count_tokens', '/responses/input_tokens'])(
  '%s counts nothing for a key that cannot pay, and nothing that is far beyond the window',
  async (path) => {
    const counted: string[] = []
    const core: Generate = async ({ model }) => void counted.push(model.id)
    const shortage = {
      availableNano: toNanoCredits('0'),
      heldNano: toNanoCredits('0'),
      of: 'account',
    } as const
    const caller = { keyId: 'key-1', accountId: 'account-1', weight: 1, models: null }
    const poor = await serveApp(core, {}, { authenticate: async () => ({ ...caller, shortage }) })
    const rich = await serveApp(core)
    const ask = async ({ url }: { url: string }, content: string) => {
      const prompt = path.startsWith('/messages')
        ? { messages: [{ role: 'user', content }] }
        : { input: content }
      const body = JSON.stringify({ model: MODEL, ...prompt })
      return await fetch(`${url}${path}`, { method: 'POST', headers: AUTHORIZED, body })
    }
    expect((await ask(poor, 'Hi')).status).toBe(402)
    const long = await ask(rich, 'x'.repeat(32 * 8_192 + 1))
    expect(long.status).toBe(400)
    expect(await long.text()).toContain('maximum context length')
    expect(counted).toEqual([])
    expect((await ask(rich, 'x'.repeat(31 * 8_192))).status).toBe(200)
  },
)

it('counts ten seconds of an account’s bytes at once, then refuses', async () => {
  const { url } = await serveApp(always([END]), { countBytesPerS: 20_000 }, { nowMs: () => 0 })
  const body = JSON.stringify({ ...CHAT, messages: [{ role: 'user', content: 'x'.repeat(40_000) }] })
  const statuses = []
  // One address has half of the rate: 100,000 bytes at once. The prompt that reaches it is still counted.
  for (let at = 0; at < 4; at += 1) {
    const init = { method: 'POST', headers: AUTHORIZED, body }
    statuses.push((await fetch(`${url}/messages/count_tokens`, init)).status)
  }
  expect(statuses).toEqual([200, 200, 200, 429])
})
