import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCatalog } from '#apps/billing/catalog/read-catalog.ts'
import { COMPILE_CACHE } from '#scripts/servers/compile-cache.ts'
import { REPOSITORY } from '#scripts/servers/start-app.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import {
  ADMIN_TOKEN,
  CHAT,
  EMBED,
  ODD,
  openBillingDatabase,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'

// Tests the script of the chart's Job with a real billing. The Job runs again with every new image and after a
// rollback.

const SCRIPT = 'deploy/helm/millrace/files/scripts/publish-catalog.mjs'
const folder = scratchFolder('publish-catalog')
const token = join(folder, 'token')

let database: BillingDatabase
let url = ''

beforeAll(async () => {
  database = await openBillingDatabase()
  url = await database.admin.listen({ port: 0, host: '127.0.0.1' })
  writeFileSync(token, `${ADMIN_TOKEN}\n`)
})
afterAll(() => database.close())

/** Advances the clock by a minute and runs the Job's script on a catalog with this price of the chat model. */
async function publish(outputPriceNano: string, { keep = EMBED.id, origin = 'helm serving/mr' } = {}) {
  database.clock.nowMs += 60_000
  const file = join(folder, 'catalog.json')
  writeFileSync(file, JSON.stringify({ models: [{ ...CHAT, outputPriceNano }] }))
  const hash = `hash-of-${outputPriceNano}`
  const args = [SCRIPT, file, url, token, origin, hash, keep, 'values of today']
  const env = { PATH: process.env['PATH'], NODE_COMPILE_CACHE: COMPILE_CACHE }
  return await promisify(execFile)(process.execPath, args, { cwd: REPOSITORY, env })
}

async function priceNow(): Promise<string | undefined> {
  const { models } = await readCatalog(database.pool, database.clock.nowMs)
  return models.find(({ id }) => id === CHAT.id)?.outputPriceNano
}

test('a content is published once, so prices that operators publish afterwards stay', async () => {
  expect((await publish('30000000')).stdout).toContain('outputPrice  0.01 → 0.03')
  const models = [{ ...CHAT, outputPriceNano: '50000000' }]
  database.clock.nowMs += 60_000
  const byHand = await database.operator.ask('POST', '/catalog', { models, keep: 'all', reason: 'by hand' })
  expect(byHand.status).toBe(200)
  expect((await publish('30000000')).stdout).toContain('published before')
  expect(await priceNow()).toBe('50000000')
})

test('another content is published, and an earlier one again after it, as in a rollback', async () => {
  await publish('70000000')
  expect(await priceNow()).toBe('70000000')
  await publish('30000000')
  expect(await priceNow()).toBe('30000000')
  const { body } = await database.operator.ask('GET', '/audit?action=publishCatalog&limit=1')
  expect(body).toMatchObject({ data: [{ reason: 'helm serving/mr hash-of-30000000: values of today' }] })
})

test('models whose prices are published by hand stay enabled, others that the file lacks do not', async () => {
  const { models } = await readCatalog(database.pool, database.clock.nowMs)
  const states = models.map(({ id, enabled }) => [id, enabled])
  expect(states).toEqual([
    [CHAT.id, true],
    [EMBED.id, true],
    [ODD.id, false],
  ])
})

test('releases that share a billing do not take each other’s publications for their own', async () => {
  expect((await publish('30000000', { origin: 'helm serving/mr2' })).stdout).not.toContain('published before')
  // This also holds if one release's name is the beginning of another's, and the other has published since.
  await publish('90000000', { origin: 'helm serving/mr2' })
  expect((await publish('30000000')).stdout).toContain('published before')
  expect(await priceNow()).toBe('90000000')
})

test('a catalog that billing refuses ends the script with an error at once', async () => {
  await expect(publish('not a price')).rejects.toThrow(/expected whole nano-credits/)
})
