import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCatalog } from '#apps/billing/catalog/read-catalog.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import {
  ADMIN_TOKEN,
  CHAT,
  EMBED,
  ODD,
  openBillingDatabase,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'
import { millrace, type Ended } from './millrace.ts'

// A deployment publishes its catalog with a job that may run again; these tests do the same.

let database: BillingDatabase
let url = ''
const catalog = join(scratchFolder('catalog'), 'catalog.json')

beforeAll(async () => {
  database = await openBillingDatabase()
  url = await database.admin.listen({ port: 0, host: '127.0.0.1' })
  database.clock.nowMs += 60_000
  writeFileSync(catalog, JSON.stringify({ models: [{ ...CHAT, outputPriceNano: '30000000' }] }))
})
afterAll(() => database.close())

const publish = async (...words: string[]): Promise<Ended> =>
  await millrace(['models', 'publish', catalog, ...words], {
    MILLRACE_ADMIN_URL: url,
    MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN,
  })

const readStates = async () =>
  (await readCatalog(database.pool, database.clock.nowMs)).models.map(({ id, enabled }) => [id, enabled])

const countVersions = async () =>
  (await database.pool.query<{ count: number }>('select count(*)::int as count from price_versions')).rows

test('a file replaces its models once; the same file again makes no price version and no audit entry', async () => {
  const first = await publish('--reason', 'release 17')
  expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('outputPrice  0.01 → 0.03') })
  const versions = await countVersions()
  database.clock.nowMs += 60_000
  expect(await publish('--reason', 'release 18')).toEqual({
    code: 0,
    stdout: 'Nothing changes.\n',
    stderr: '',
  })
  expect(await countVersions()).toEqual(versions)
  const { body } = await database.operator.ask('GET', '/audit?action=publishCatalog')
  expect(body).toMatchObject({ data: [{ reason: 'release 17' }] })
})

test('models that the file lacks are disabled only when asked, and those to keep not even then', async () => {
  expect(await readStates()).toEqual([
    [CHAT.id, true],
    [EMBED.id, true],
    [ODD.id, true],
  ])
  const asked = await publish('--disable-missing', '--keep', `${EMBED.id},not-yet-published`)
  expect(asked).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('- odd\n    enabled  true → false'),
  })
  expect(await readStates()).toEqual([
    [CHAT.id, true],
    [EMBED.id, true],
    [ODD.id, false],
  ])
})

test('models to keep without the flag that disables others are refused', async () => {
  expect(await publish('--keep', 'odd')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'millrace models publish: --keep is for --disable-missing only.\n',
  })
  expect((await publish('--disable-missing', '--keep', 'odd,')).code).toBe(2)
})
