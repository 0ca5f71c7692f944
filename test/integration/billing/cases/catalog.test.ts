import { expect } from 'vitest'
import { readCatalog } from '#apps/billing/catalog/read-catalog.ts'
import { readCatalogFiles } from '#libs/catalog-file/read-catalog-files.ts'
import { ModelSpec } from '#libs/contracts/model-spec.ts'
import { CHAT, EMBED, ODD, type BillingDatabase } from '../support/billing-database.ts'
import { test } from '../support/own-database-test.ts'

const read = (database: BillingDatabase) => readCatalog(database.pool, database.clock.nowMs)

test('the models of the file are read back, by id', async ({ database }) => {
  expect((await read(database)).models).toEqual([CHAT, EMBED, ODD])
})

test('loading the same file again changes nothing, not even the version', async ({ database }) => {
  const before = await read(database)
  await database.loadModels([ODD, EMBED, CHAT])
  expect(await read(database)).toEqual(before)
})

test('a changed price is a new version from now on, and the old one stays', async ({ database }) => {
  const before = await read(database)
  database.clock.nowMs += 60_000
  const dearer = { ...CHAT, outputPriceNano: '30000000' }
  await database.loadModels([dearer, ODD, EMBED])
  const after = await read(database)
  expect(after.version).toBe(before.version + 1n)
  expect(after.models[0]).toEqual(dearer)
  expect((await readCatalog(database.pool, database.clock.nowMs - 1)).models[0]).toEqual(CHAT)
})

test.for<[string, Partial<ModelSpec>]>([
  ['output limit', { maxOutputTokens: 10 }],
  ['fixed state', { fixedState: 'warming' }],
])('a changed trait needs no new price: %s', async ([, change], { database }) => {
  await database.loadModels([{ ...CHAT, ...change }, ODD, EMBED])
  expect((await read(database)).models[0]).toEqual({ ...CHAT, ...change })
  const { rows } = await database.pool.query(
    "select count(*)::int as count from price_versions where model = 'chat'",
  )
  expect(rows).toEqual([{ count: 1 }])
})

test('a model that the file no longer has is disabled, and enabled again when it returns', async ({
  database,
}) => {
  await database.loadModels([CHAT, EMBED])
  expect((await read(database)).models).toEqual([CHAT, EMBED, { ...ODD, enabled: false }])
  await database.loadModels([CHAT, EMBED, ODD])
  expect((await read(database)).models).toEqual([CHAT, EMBED, ODD])
})

test('a cached token may not cost more than a fresh one: a charge could exceed its hold', async ({
  database,
}) => {
  database.clock.nowMs += 1_000
  const wrong = { ...CHAT, cachedInputPriceNano: '9000000' }
  await expect(database.loadModels([wrong])).rejects.toThrow('cached_input_not_dearer')
  expect((await read(database)).models).toEqual([CHAT, EMBED, ODD])
})

test('the length of vectors is known of models that embed, and of no others', async ({ database }) => {
  const shorter = { ...EMBED, embedding: { dimensions: 64, matryoshka: false } }
  await database.loadModels([shorter])
  expect((await read(database)).models[1]).toEqual(shorter)
  expect(ModelSpec.safeParse({ ...EMBED, embedding: null }).success).toBe(false)
  expect(ModelSpec.safeParse({ ...CHAT, embedding: EMBED.embedding }).success).toBe(false)
})

test('the file of the embedded default is a catalog', async ({ database }) => {
  await database.loadModels(await readCatalogFiles(['deploy/catalog.demo.json']))
  expect((await read(database)).models.filter(({ enabled }) => enabled).map(({ id }) => id)).toEqual([
    'demo-chat',
    'demo-embed',
    'demo-reasoning',
    'millrace/demo-chat',
  ])
})
