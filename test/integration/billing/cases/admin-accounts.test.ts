import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { reserveCall } from '../support/billing-database.ts'
import { refusal } from '../support/operator.ts'
import { test } from '../support/billing-test.ts'

const movement = (fields: object = {}) => ({
  credits: '1.5',
  idempotencyKey: 'one',
  reason: 'invoice 1',
  ...fields,
})

describe('accounts', () => {
  test('begin empty', async ({ database, ask }) => {
    const id = await database.operator.createAccount()
    expect(await ask('GET', `/accounts/${id}`)).toEqual({
      status: 200,
      body: {
        id,
        name: 'test',
        status: 'active',
        weight: 1,
        postedNano: '0',
        heldNano: '0',
        availableNano: '0',
        openHolds: 0,
        createdAt: '2030-01-01T00:00:00.000Z',
      },
    })
  })

  test('show the held credits', async ({ database, ask }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    await database.money.reserve([reserveCall(keyId)])
    expect(await ask('GET', `/accounts/${accountId}`)).toMatchObject({
      body: { postedNano: '1000', heldNano: '700', availableNano: '300', openHolds: 1 },
    })
  })

  test.for([
    ['name', {}],
    ['name', { name: ' ' }],
    ['credits', { name: 'x', credits: '1' }],
    ['name', { name: 'x'.repeat(201) }],
  ] as const)('need a name, and only a name: %s', async ([param, payload], { ask }) => {
    const answer = await ask('POST', '/accounts', payload)
    expect(answer).toEqual({ status: 400, body: refusal('invalid_request', param) })
  })

  test('have a weight, which is changed with all of their keys, and once', async ({ database, ask }) => {
    const { accountId } = await database.createAccount(1_000n)
    const version = async () =>
      (await database.pool.query('select version from api_keys where account_id = $1', [accountId])).rows
    const before = await version()
    const weigh = async (weight: unknown) =>
      await ask('PATCH', `/accounts/${accountId}`, { weight, reason: 'contract 17' })
    expect(await weigh(100)).toMatchObject({ status: 200, body: { weight: 100 } })
    expect(await version()).not.toEqual(before)
    expect(await weigh(100)).toMatchObject({ status: 200, body: { weight: 100 } })
    expect(await ask('GET', `/accounts/${accountId}`)).toMatchObject({ body: { weight: 100 } })
    for (const wrong of [0, 101, 1.5, null]) {
      expect(await weigh(wrong)).toEqual({ status: 400, body: refusal('invalid_request', 'weight') })
    }
    expect(await ask('GET', `/audit?target=${accountId}&action=changeAccount`)).toMatchObject({
      body: { data: [{ details: { weight: 100, before: 1 }, reason: 'contract 17' }] },
    })
  })

  test('that are closed spend nothing until they are opened again', async ({ database, ask }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    const close = () => ask('POST', `/accounts/${accountId}/close`, { reason: 'unpaid' })
    expect(await close()).toMatchObject({ status: 200, body: { status: 'closed', postedNano: '1000' } })
    expect(await database.money.reserve([reserveCall(keyId)])).toEqual([{ status: 'key-invalid' }])
    expect(await ask('POST', `/accounts/${accountId}/keys`)).toEqual({
      status: 409,
      body: refusal('conflict'),
    })
    expect(await close()).toMatchObject({ status: 200, body: { status: 'closed' } })
    await ask('POST', `/accounts/${accountId}/reopen`, { reason: 'paid' })
    expect(await database.money.reserve([reserveCall(keyId)])).toMatchObject([{ status: 'granted' }])
  })

  test('with an unknown id are not found', async ({ ask }) => {
    const id = randomUUID()
    const notFound = { status: 404, body: refusal('not_found') }
    expect(await ask('GET', `/accounts/${id}`)).toEqual(notFound)
    expect(await ask('POST', `/accounts/${id}/close`, { reason: 'x' })).toEqual(notFound)
    expect(await ask('POST', `/accounts/${id}/topups`, movement())).toEqual(notFound)
    expect(await ask('POST', `/accounts/${id}/adjustments`, movement())).toEqual(notFound)
    expect(await ask('POST', `/accounts/${id}/keys`)).toEqual(notFound)
  })

  test('are listed in pages, each once, the newest first, also when made in the same moment', async ({
    database,
    ask,
  }) => {
    const Page = z.object({ data: z.array(z.object({ id: z.string() })), nextCursor: z.string().nullable() })
    const name = `Page ${randomUUID()}`
    const made: string[] = []
    for (let index = 0; index < 5; index += 1) {
      if (index % 2 === 0) database.clock.nowMs += 1_000
      const { body } = await ask('POST', '/accounts', { name: `${name} ${index}` })
      made.push(z.object({ id: z.string() }).parse(body).id)
    }
    const listed: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? '' : `&cursor=${cursor}`
      const { body } = await ask(
        'GET',
        `/accounts?limit=2&name=${encodeURIComponent(name.toUpperCase())}${query}`,
      )
      const page = Page.parse(body)
      expect(page.data.length).toBeLessThanOrEqual(2)
      listed.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor
    }
    expect(listed.toSorted()).toEqual(made.toSorted())
    expect(listed[0]).toBe(made[4])
    const closed = await ask('GET', `/accounts?status=closed&name=${encodeURIComponent(name)}`)
    expect(closed.body).toEqual({ data: [], nextCursor: null })
  })
})

describe('credits', () => {
  test.for(['topups', 'adjustments'])(
    'are given once for one idempotency key: %s',
    async (kind, { database, ask }) => {
      const id = await database.operator.createAccount()
      const first = await ask('POST', `/accounts/${id}/${kind}`, movement())
      expect(first).toMatchObject({
        status: 201,
        body: { amountNano: '1500000000', postedNano: '1500000000', replayed: false },
      })
      const again = await ask('POST', `/accounts/${id}/${kind}`, movement())
      expect(again.body).toEqual({ ...z.object({}).loose().parse(first.body), replayed: true })
      expect(await database.balance(id)).toMatchObject({ posted: 1_500_000_000n })
      const { rows } = await database.pool.query(
        'select action, actor, role, reason, details from admin_audit where target = $1 and reason is not null',
        [id],
      )
      expect(rows).toMatchObject([
        { actor: 'bootstrap', role: 'owner', reason: 'invoice 1', details: { amountNano: '1500000000' } },
      ])
    },
  )

  test.for(['topups', 'adjustments'])(
    'with the same key and another amount or reason are refused: %s',
    async (kind, { database, ask }) => {
      const id = await database.operator.createAccount()
      await ask('POST', `/accounts/${id}/${kind}`, movement())
      for (const change of [{ credits: '2' }, { reason: 'invoice 2' }]) {
        expect(await ask('POST', `/accounts/${id}/${kind}`, movement(change))).toEqual({
          status: 409,
          body: refusal('conflict', 'idempotencyKey'),
        })
      }
    },
  )

  test('may be given in nano-credits', async ({ database, ask }) => {
    const id = await database.operator.createAccount()
    const payload = { amountNano: '7', idempotencyKey: 'n', reason: 'r' }
    expect((await ask('POST', `/accounts/${id}/topups`, payload)).body).toMatchObject({ postedNano: '7' })
  })

  test('may be taken, but not the held ones', async ({ database, ask }) => {
    const { accountId, keyId } = await database.createAccount(1_000n)
    await database.money.reserve([reserveCall(keyId)])
    const take = (amountNano: string) =>
      ask('POST', `/accounts/${accountId}/adjustments`, {
        amountNano,
        idempotencyKey: amountNano,
        reason: 'r',
      })
    expect(await take('-301')).toEqual({ status: 409, body: refusal('insufficient_credits') })
    expect(await take('-300')).toMatchObject({ status: 201, body: { amountNano: '-300', postedNano: '700' } })
    expect(await database.balance(accountId)).toMatchObject({ posted: 700n, held: 700n })
  })

  test.for([
    ['both amounts', { amountNano: '1' }, 'credits'],
    ['no amount', { credits: undefined }, 'credits'],
    ['nothing', { credits: '0' }, 'credits'],
    ['a negative top-up', { credits: '-1' }, 'credits'],
    ['a number, which JSON readers round', { credits: 1.5 }, 'credits'],
    ['text that is no amount', { credits: 'lots' }, 'credits'],
    ['hexadecimals', { credits: undefined, amountNano: '0x10' }, 'amountNano'],
    ['more than there can be', { credits: '9999999999' }, 'credits'],
    ['no idempotency key', { idempotencyKey: undefined }, 'idempotencyKey'],
    ['no reason', { reason: '' }, 'reason'],
  ] as const)('are refused: %s', async ([, change, param], { database, ask }) => {
    const id = await database.operator.createAccount()
    const answer = await ask('POST', `/accounts/${id}/topups`, movement(change))
    expect(answer).toEqual({ status: 400, body: refusal('invalid_request', param) })
  })

  test('that make a balance too large are refused', async ({ database, ask }) => {
    const id = await database.operator.createAccount()
    const most = movement({ credits: undefined, amountNano: '9223372036854775807' })
    expect((await ask('POST', `/accounts/${id}/topups`, most)).status).toBe(201)
    const answer = await ask('POST', `/accounts/${id}/topups`, movement({ idempotencyKey: 'two' }))
    expect(answer).toEqual({ status: 400, body: refusal('invalid_request') })
  })
})
