import { describe, expect } from 'vitest'
import { z } from 'zod'
import { announcePrices } from '#apps/billing/catalog/announce-prices.ts'
import { readCatalog } from '#apps/billing/catalog/read-catalog.ts'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import {
  CHAT,
  EMBED,
  log,
  ODD,
  only,
  reserveCall,
  settlement,
  type BillingDatabase,
} from '../support/billing-database.ts'
import { refusal } from '../support/operator.ts'
import { test as base } from '../support/own-database-test.ts'

const read = (database: BillingDatabase) => readCatalog(database.pool, database.clock.nowMs)
const DEARER = { ...CHAT, outputPriceNano: '30000000' }
const CHANGE = { model: 'chat', field: 'outputPriceNano', before: '10000000', after: '30000000' }
const SOON = '2030-01-02T00:00:00.000Z'

const test = base.extend(
  'publish',
  ({ ask }) =>
    (models: readonly object[], fields: object = {}, query = '') =>
      ask('POST', `/catalog${query}`, { models, ...fields }),
)

describe('publishing', () => {
  test('gives a changed price from now on, and a request under way keeps its own', async ({
    database,
    ask,
    publish,
  }) => {
    const { accountId, keyId } = await database.createAccount(10_000n)
    const call = reserveCall(keyId)
    await database.money.reserve([call])
    database.clock.nowMs += 1_000
    const answer = await publish([DEARER, ODD, EMBED], { reason: 'new prices' })
    expect(answer).toEqual({
      status: 200,
      body: { dryRun: false, effectiveAt: '2030-01-01T00:00:01.000Z', changes: [CHANGE] },
    })
    expect((await read(database)).models).toEqual([DEARER, EMBED, ODD])
    await database.money.settle([settlement(call.reservationId)])
    expect(await database.balance(accountId)).toMatchObject({ posted: 9_300n })
    expect((await ask('GET', `/requests/${call.reservationId}`)).body).toMatchObject({
      prices: { outputPriceNano: '10000000', effectiveFrom: '2030-01-01T00:00:00.000Z' },
    })
    expect((await ask('GET', '/audit?action=publishCatalog')).body).toMatchObject({
      data: [{ target: 'catalog', reason: 'new prices', details: { changes: [CHANGE] } }],
    })
  })

  test('the same again changes nothing, not even the version', async ({ database, ask, publish }) => {
    database.clock.nowMs += 1_000
    const before = await read(database)
    expect(await publish([CHAT, ODD, EMBED])).toMatchObject({ status: 200, body: { changes: [] } })
    expect(await read(database)).toEqual(before)
    expect((await ask('GET', '/audit')).body).toEqual({ data: [], nextCursor: null })
  })

  test('the published form of the current catalog changes nothing', async ({ ask, publish }) => {
    const { body } = await ask('GET', '/catalog')
    expect(body).toEqual({ models: [CHAT, EMBED, ODD], scheduled: [] })
    expect((await publish([CHAT, EMBED, ODD])).body).toMatchObject({ changes: [] })
  })

  test('dry lists the changes and makes none', async ({ database, ask, publish }) => {
    database.clock.nowMs += 1_000
    const before = await read(database)
    const small = { ...EMBED, id: 'small' }
    const { status, body } = await publish([DEARER, EMBED, small], {}, '?dryRun=true')
    expect(status).toBe(200)
    expect(body).toMatchObject({ dryRun: true })
    expect(body).toHaveProperty(
      'changes',
      expect.arrayContaining([
        CHANGE,
        { model: 'odd', field: 'enabled', before: true, after: false },
        { model: 'small', field: 'inputPriceNano', before: null, after: '2000000' },
        { model: 'small', field: 'embedding', before: null, after: { dimensions: 256, matryoshka: true } },
      ]),
    )
    expect(await read(database)).toEqual(before)
    expect((await ask('GET', '/audit')).body).toEqual({ data: [], nextCursor: null })
    expect((await publish([DEARER, EMBED, small])).body).toMatchObject({
      changes: z.object({ changes: z.array(z.unknown()) }).parse(body).changes,
    })
    expect((await read(database)).models).toEqual([DEARER, EMBED, { ...ODD, enabled: false }, small])
  })

  test.for([
    ['all', 'all'],
    ['ids', ['odd', 'not-yet-published']],
  ] as const)('leaves models alone that it lacks and keeps: %s', async ([, keep], { database, publish }) => {
    database.clock.nowMs += 1_000
    expect((await publish([DEARER, EMBED], { keep })).body).toMatchObject({ changes: [CHANGE] })
    expect((await read(database)).models).toEqual([DEARER, EMBED, ODD])
    const { version } = await read(database)
    expect((await publish([DEARER, EMBED], { keep })).body).toMatchObject({ changes: [] })
    expect((await read(database)).version).toBe(version)
    expect((await publish([DEARER], { keep: ['odd'] })).body).toMatchObject({
      changes: [{ model: 'embed', field: 'enabled', before: true, after: false }],
    })
  })

  test('for later leaves now as it is, and is there when its time comes', async ({
    database,
    ask,
    publish,
  }) => {
    const { keyId } = await database.createAccount(10_000n)
    const fresh = { ...CHAT, id: 'fresh' }
    await publish([DEARER, ODD, EMBED, fresh], { effectiveAt: SOON })
    expect((await read(database)).models).toEqual([CHAT, EMBED, ODD])
    expect((await ask('GET', '/catalog')).body).toMatchObject({
      scheduled: [
        { model: 'chat', effectiveFrom: SOON, outputPriceNano: '30000000' },
        { model: 'fresh', effectiveFrom: SOON },
      ],
    })
    expect(await database.money.reserve([reserveCall(keyId, { model: 'fresh' })])).toEqual([
      { status: 'model-unknown' },
    ])
    expect((await publish([DEARER, ODD, EMBED, fresh], { effectiveAt: SOON })).body).toMatchObject({
      changes: [],
    })

    const { version } = await read(database)
    const stop = announcePrices({
      db: toKysely(database.servicePool),
      everyMs: 10,
      nowMs: () => database.clock.nowMs,
      log,
    })
    database.clock.nowMs = Date.parse(SOON)
    await expect.poll(async () => (await read(database)).version).toBe(version + 1n)
    await stop()
    expect((await read(database)).models).toEqual([DEARER, EMBED, fresh, ODD])
    const call = reserveCall(keyId, { deadlineMs: database.clock.nowMs + 1_000 })
    expect(only(await database.money.reserve([call]))).toMatchObject({
      status: 'granted',
      amountNano: 1_700n,
    })
  })

  test('another price for the same moment is refused: prices never change', async ({ database, publish }) => {
    await publish([DEARER, ODD, EMBED], { effectiveAt: SOON })
    const dearest = { ...CHAT, outputPriceNano: '40000000' }
    expect(await publish([dearest, ODD, EMBED], { effectiveAt: SOON })).toEqual({
      status: 409,
      body: refusal('conflict', 'effectiveAt'),
    })
    await expect(database.pool.query('update price_versions set input_price = 1')).rejects.toThrow(
      'append-only',
    )
  })

  test.for([
    {
      what: 'a trait that changes later',
      models: [{ ...CHAT, maxOutputTokens: 5 }, ODD, EMBED],
      fields: { effectiveAt: SOON },
      param: 'effectiveAt',
    },
    {
      what: 'a model that goes later',
      models: [CHAT, ODD],
      fields: { effectiveAt: SOON },
      param: 'effectiveAt',
    },
    {
      what: 'a time that is over',
      models: [DEARER, ODD, EMBED],
      fields: { effectiveAt: '2029-12-31T00:00:00Z' },
      param: 'effectiveAt',
    },
    {
      what: 'cached tokens dearer than fresh ones',
      models: [{ ...CHAT, cachedInputPriceNano: '9000000' }],
      param: 'models.0.cachedInputPriceNano',
    },
    {
      what: 'a price that is a number',
      models: [{ ...CHAT, inputPriceNano: 5 }],
      param: 'models.0.inputPriceNano',
    },
    {
      what: 'a window that no database holds',
      models: [{ ...CHAT, contextWindow: 3_000_000_000 }],
      param: 'models.0.contextWindow',
    },
  ])('is refused: $what', async ({ models, fields, param }, { database, publish }) => {
    database.clock.nowMs += 1_000
    const before = await read(database)
    expect(await publish(models, fields)).toEqual({ status: 400, body: refusal('invalid_request', param) })
    expect(await read(database)).toEqual(before)
  })

  test('is refused with one model twice', async ({ publish }) => {
    expect(await publish([CHAT, CHAT])).toEqual({ status: 400, body: refusal('invalid_request') })
  })

  test('survives a start with unchanged catalog files, and is replaced by changed ones', async ({
    database,
    publish,
  }) => {
    database.clock.nowMs += 1_000
    await publish([DEARER, ODD, EMBED])
    await database.loadModels([CHAT, ODD, EMBED])
    expect((await read(database)).models).toEqual([DEARER, EMBED, ODD])
    database.clock.nowMs += 1_000
    await database.loadModels([CHAT, EMBED])
    expect((await read(database)).models).toEqual([CHAT, EMBED, { ...ODD, enabled: false }])
  })
})

test('price versions are listed, the latest first', async ({ database, ask, publish }) => {
  database.clock.nowMs += 1_000
  await publish([DEARER, ODD, EMBED])
  const { body } = await ask('GET', '/price-versions?model=chat&limit=1')
  expect(body).toMatchObject({ data: [{ model: 'chat', outputPriceNano: '30000000' }] })
  const { nextCursor } = z.object({ nextCursor: z.string() }).parse(body)
  expect((await ask('GET', `/price-versions?model=chat&limit=1&cursor=${nextCursor}`)).body).toMatchObject({
    data: [{ outputPriceNano: '10000000' }],
    nextCursor: null,
  })
  expect(await ask('GET', '/price-versions?model=nope')).toEqual({
    status: 404,
    body: refusal('not_found', 'model'),
  })
})
