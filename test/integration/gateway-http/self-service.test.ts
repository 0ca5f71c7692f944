import { expect, test } from 'vitest'
import { ACCOUNT } from '#libs/account-contract/account-contract.ts'
import { always, AUTHORIZED, END, NARROW, serveApp } from './gateway-app.ts'
import { ARCHIVED_ID, RUNNING_ID, SETTLED_ID } from './own-account.ts'

async function setUp() {
  const { url, own } = await serveApp(always([END]))
  const get = async (path: string, headers: Record<string, string> = AUTHORIZED) =>
    await fetch(`${url}${path}`, { headers })
  const read = async (path: string): Promise<unknown> => await (await get(path)).json()
  return { get, read, own }
}

test('billing answers, and its answer is sent as it is', async () => {
  const { get, own } = await setUp()
  for (const [path, { answered }] of [
    ['/key', ACCOUNT.readKey],
    ['/credits', ACCOUNT.readCredits],
  ] as const) {
    const response = await get(path)
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.text()).toBe(JSON.stringify(Object.values(answered.examples)[0]))
  }
  expect(own.asked).toEqual(['readKey key-1', 'readCredits key-1'])
})

test('parameters that are not described are ignored', async () => {
  const { get, own } = await setUp()
  for (const path of ['/key?a=1', '/generations?what=1', '/activity?from=2026-11-01&to=2026-11-02&b']) {
    expect((await get(path)).status).toBe(200)
  }
  expect(own.asked).toEqual([
    'readKey key-1',
    'listGenerations key-1 50',
    'readActivity key-1 2026-11-01 2026-11-02',
  ])
})

test.each([SETTLED_ID, `chatcmpl-${SETTLED_ID}`, `cmpl-${SETTLED_ID}`, `resp_${SETTLED_ID.toUpperCase()}`])(
  'a request is found by the id %s',
  async (id) => {
    const { read } = await setUp()
    expect(await read(`/generation?id=${id}`)).toMatchObject({
      data: { id: SETTLED_ID, status: 'settled', latency: 14_610, total_cost: 0.0002324, usage: 0.0002324 },
    })
  },
)

test('a request that runs has a receipt without a charge', async () => {
  const { read } = await setUp()
  expect(await read(`/generation?id=${RUNNING_ID}`)).toMatchObject({
    data: { status: 'running', total_cost: null, finish_reason: null, waited_ms: null, cancelled: null },
  })
})

test('requests of other keys, unknown and archived ones are 404, the last with the month', async () => {
  const { get, read } = await setUp()
  const foreign = await get(`/generation?id=${SETTLED_ID}`, NARROW)
  const error = { code: 'invalid_request', param: 'id', message: 'There is no request with this id.' }
  expect([foreign.status, await foreign.json()]).toMatchObject([404, { error }])
  expect(await read('/generation?id=nonsense')).toMatchObject({ error })
  expect(await read(`/generation?id=${ARCHIVED_ID}`)).toMatchObject({
    error: { message: expect.stringContaining('2022-07') },
  })
  expect((await get('/generation')).status).toBe(400)
})

test('pages follow by their cursor, and activity comes as JSON or as a table', async () => {
  const { get, read, own } = await setUp()
  const cursor = `1795281192001000-${SETTLED_ID}`
  expect(await read('/generations')).toMatchObject({
    data: [{ id: RUNNING_ID }, { id: SETTLED_ID }],
    next_cursor: cursor,
  })
  expect(await read(`/generations?limit=1&cursor=${cursor}`)).toMatchObject({ next_cursor: null })
  expect((await get('/generations?cursor=x')).status).toBe(400)
  expect((await get('/generations?limit=51')).status).toBe(400)

  expect(await read('/activity?from=2026-11-01&to=2026-11-21')).toMatchObject({
    data: [{ date: '2026-11-21', requests: 2, usage: 0.0004648, nano: { usage: '464800' } }],
  })
  const csv = await get('/activity?from=2026-11-02&to=2026-11-21', { ...AUTHORIZED, accept: 'text/csv' })
  expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(await csv.text()).toBe(
    'date,model,requests,prompt_tokens,cached_tokens,completion_tokens,usage_nano\r\n' +
      `2026-11-21,"'=org/""demo""",2,518,0,602,464800\r\n`,
  )
  const refused = ['from=2026-11-22&to=2026-11-21', 'from=2025-11-20&to=2026-11-21', 'from=x']
  for (const query of refused) expect((await get(`/activity?${query}`)).status).toBe(400)
  expect(await read('/activity?from=2022-12-31&to=2022-12-31')).toMatchObject({
    error: { message: expect.stringContaining('2022-12'), param: 'from' },
  })
  expect(own.asked).toHaveLength(5)
})

test('the same question is asked once a second, and a loop is refused after a burst', async () => {
  const { get, own } = await setUp()
  for (let n = 0; n < 30; n += 1) expect((await get('/key')).status).toBe(200)
  expect(own.asked.length).toBeLessThan(30)
  const answers = []
  for (let n = 0; n < 30; n += 1) {
    answers.push(await get(`/generation?id=${SETTLED_ID.slice(0, -2)}${String(n).padStart(2, '0')}`))
  }
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused.length).toBeGreaterThan(10)
  expect(refused[0]?.headers.get('retry-after')).toBe('1')
  expect((await get('/key', NARROW)).status).toBe(200)
})

test('the keys of one account share its reads, and leave those of other accounts', async () => {
  const authenticate = async (key = '') => ({
    keyId: key,
    accountId: key.split(' ')[1] ?? '',
    weight: 1,
    models: null,
    shortage: null,
  })
  const { url } = await serveApp(always([END]), {}, { authenticate, nowMs: () => 0 })
  const statusOf = async (account: string, key: number) =>
    (await fetch(`${url}/key`, { headers: { authorization: `Bearer ${account} ${key}` } })).status
  const statuses = []
  for (let key = 0; key < 60; key += 1) statuses.push(await statusOf('a', key))
  expect(statuses.map((status, key) => (status === 429 ? key : 0)).find((key) => key > 0)).toBe(40)
  expect(await statusOf('b', 0)).toBe(200)
})

test('without a key it is 401, and while billing is away 503', async () => {
  const { get, own } = await setUp()
  for (const path of ['/key', '/credits', '/generations', '/activity', `/generation?id=${SETTLED_ID}`]) {
    expect((await get(path, {})).status).toBe(401)
  }
  own.state.isAway = true
  const away = await get('/key')
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, '2'])
  own.state.isAway = false
  expect((await get('/key')).status).toBe(200)
})
