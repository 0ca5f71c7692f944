import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { COMMANDS } from '#apps/ctl/commands.ts'
import { scratchFolder } from '../../support/run-folder.ts'
import {
  ADMIN_TOKEN,
  CHAT,
  EMBED,
  ODD,
  START_MS,
  openBillingDatabase,
  reserveCall,
  setWatermark,
  settlement,
  type BillingDatabase,
} from '../billing/support/billing-database.ts'
import { millrace, type Ended } from './millrace.ts'

// Runs every command once, against billing's admin interface with a real database.

let database: BillingDatabase
let url = ''

beforeAll(async () => {
  database = await openBillingDatabase()
  url = await database.admin.listen({ port: 0, host: '127.0.0.1' })
})
beforeEach(() => {
  database.clock.nowMs = START_MS
})
afterAll(() => database.close())

const asked: string[] = []

async function ask(...words: string[]): Promise<Ended> {
  asked.push(words.join(' '))
  return await millrace(words, { MILLRACE_ADMIN_URL: url, MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN })
}

/** Returns the text that a command prints for people. */
async function shown(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await ask(...words)
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`)
  return stdout
}

/** Returns the parsed output of a command with --json. */
async function exact<Answer>(schema: z.ZodType<Answer>, ...words: string[]): Promise<Answer> {
  return schema.parse(JSON.parse(await shown(...words, '--json')))
}

const WithId = z.object({ id: z.string() })
const NewKey = z.object({ id: z.string(), secret: z.string() })
const Listed = z.object({ data: z.array(z.looseObject({})), nextCursor: z.string().nullable() })

/** Returns the value beside a name in a printed text. */
function field(text: string, name: string): string | undefined {
  return new RegExp(`^ *${name}  +(.*)$`, 'm').exec(text)?.[1]
}

test('accounts: create, show, list, change, close, reopen', async () => {
  const name = `acme ${randomUUID()}`
  const created = await shown('accounts', 'create', name, '--reason', 'contract 17')
  expect(created).toContain('created     2030-01-01 00:00:00Z')
  const id = field(created, 'account') ?? ''
  expect(await shown('accounts', 'show', id)).toBe(created)
  expect(await shown('accounts', 'list', '--name', name)).toBe(
    [
      `account                               name${' '.repeat(39)}status  weight  available  held  holds  created`,
      `${id}  ${name}  active       1          0     0      0  2030-01-01 00:00:00Z`,
      '',
    ].join('\n'),
  )
  expect(field(await shown('accounts', 'change', id, '--weight', '3'), 'weight')).toBe('3')
  expect(field(await shown('accounts', 'close', id, '--reason', 'unpaid'), 'status')).toBe('closed')
  expect(field(await shown('accounts', 'reopen', id, '--reason', 'paid'), 'status')).toBe('active')
  const audit = await shown('audit', '--target', id)
  expect(audit).toMatch(/owner +closeAccount .* unpaid$[^]*owner +createAccount .* contract 17$/m)
})

test('credits: topup, adjust, show; an idempotency key is generated, printed, and moves credits once', async () => {
  const { id } = await exact(WithId, 'accounts', 'create', 'credits')
  const first = await ask('credits', 'topup', id, '25', '--reason', 'invoice 17')
  expect(first).toMatchObject({ code: 0 })
  expect(field(first.stdout, 'posted')).toBe('25')
  const [option = '', key = ''] = first.stderr.trim().split(' ')
  expect(option).toBe('--idempotency-key')

  const again = await shown('credits', 'topup', id, '25', '--reason', 'invoice 17', option, key)
  expect([field(again, 'done before'), field(again, 'posted')]).toEqual(['yes', '25'])
  const other = await ask('credits', 'topup', id, '26', '--reason', 'invoice 17', option, key)
  expect(other).toEqual({
    code: 1,
    stdout: '',
    stderr: 'This idempotency key was used with another amount or reason. (conflict)\n',
  })

  const taken = await shown('credits', 'adjust', id, '-0.5', '--reason', 'paid twice')
  expect([field(taken, 'credits'), field(taken, 'posted')]).toEqual(['-0.5', '24.5'])
  const more = await ask('credits', 'adjust', id, '-25', '--reason', 'paid twice')
  expect(more).toMatchObject({ code: 1, stderr: expect.stringContaining('(insufficient_credits)') })
  expect(await shown('credits', 'show', id)).toBe('posted     24.5\nheld       0\navailable  24.5\n')
  expect(await exact(z.looseObject({}), 'credits', 'show', id)).toMatchObject({ postedNano: '24500000000' })
})

test('keys: create, list, show, change, disable, enable, rotate, revoke; a secret is shown once', async () => {
  const { id: account } = await exact(WithId, 'accounts', 'create', 'keys')
  const limits = ['--spend-limit', '25/month', '--models', 'chat,odd', '--requests-per-minute', '60']
  const created = await shown('keys', 'create', account, '--name', 'production', ...limits)
  const id = field(created, 'key') ?? ''
  const secret = /^mr_live_\w+$/m.exec(created)?.[0] ?? 'no secret'
  expect([field(created, 'spend limit'), field(created, 'models')]).toEqual(['25/month', 'chat, odd'])
  expect(field(created, 'requests a minute')).toBe('60')

  expect(created.startsWith(await shown('keys', 'show', id))).toBe(true)
  const list = await shown('keys', 'list', '--account', account, '--last4', secret.slice(-4))
  expect(list).toContain(`${secret.slice(0, 12)}…${secret.slice(-4)}`)
  expect(list).not.toContain(secret)

  const changed = await shown(
    'keys',
    'change',
    id,
    '--spend-limit',
    'none',
    '--expires-at',
    '2030-02-01T00:00:00Z',
  )
  expect([field(changed, 'spend limit'), field(changed, 'expires')]).toEqual(['-', '2030-02-01 00:00:00Z'])
  expect(field(changed, 'requests a minute')).toBe('60')
  expect(field(await shown('keys', 'disable', id), 'status')).toBe('disabled')
  expect(field(await shown('keys', 'enable', id), 'status')).toBe('active')
  const successor = await exact(NewKey, 'keys', 'rotate', id, '--overlap-seconds', '60')
  expect(field(await shown('keys', 'show', successor.id), 'rotated from')).toBe(id)
  const revoked = await shown('keys', 'revoke', successor.id, '--reason', 'leaked')
  expect(field(revoked, 'status')).toBe('revoked')
  expect(await ask('keys', 'enable', successor.id)).toMatchObject({
    code: 1,
    stderr: 'The key is revoked, and a revocation is permanent. (conflict)\n',
  })
})

test('models: list, publish with a difference to see first, prices', async () => {
  const folder = scratchFolder('catalog')
  const [first, second] = [join(folder, 'first.json'), join(folder, 'second.json')]
  const dearer = { ...CHAT, outputPriceNano: '12500000000' }
  writeFileSync(first, JSON.stringify({ models: [dearer, { ...EMBED, id: 'embed-2' }] }))
  writeFileSync(second, JSON.stringify({ models: [EMBED] }))
  const before = await shown('models', 'list')
  expect(before).toMatch(/^chat +chat +yes +4096 +1000 +0\.002 +0\.001 +0\.01$/m)

  database.clock.nowMs += 60_000
  const differences = await shown('models', 'publish', first, second, '--disable-missing', '--dry-run')
  expect(differences).toContain('~ chat\n    outputPrice  0.01 → 12.5\n')
  expect(differences).toContain('+ embed-2\n')
  expect(differences).toContain('- odd\n    enabled  true → false\n')
  expect(differences).toContain('Would change, from 2030-01-01 00:01:00Z on.')
  expect(await shown('models', 'list')).toBe(before)

  const later = '2030-03-01T00:00:00Z'
  const odd = join(folder, 'odd.json')
  writeFileSync(odd, JSON.stringify({ models: [ODD] }))
  const published = await shown('models', 'publish', first, second, odd, '--at', later, '--reason', 'spring')
  expect(published).toContain('Changed, from 2030-03-01 00:00:00Z on.')
  expect(await shown('models', 'list')).toMatch(/Prices to come\n(?:.*\n)+.* 12\.5$/m)
  const prices = await shown('models', 'prices', '--model', 'chat')
  expect(
    prices
      .trim()
      .split('\n')
      .map((line) => line.split(/ +/).at(-1)),
  ).toEqual(['output/1M', '12.5', '0.01'])

  writeFileSync(second, JSON.stringify({ models: [{ ...EMBED, kind: 'talk' }] }))
  const wrong = await ask('models', 'publish', second)
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toMatch(/second\.json is not a catalog: .*kind/)
})

test('requests, usage, holds, write-offs, alarms and the ledger show how requests ended', async () => {
  const { accountId, keyId } = await database.createAccount(1_400n)
  const [ran, stuck, strange] = [reserveCall(keyId), reserveCall(keyId), randomUUID()]
  await database.money.reserve([ran, stuck])
  await database.money.settle([
    settlement(ran.reservationId, {
      promptTokens: 90,
      cachedTokens: 40,
      completionTokens: 30,
      by: 'worker-7',
    }),
    settlement(strange, { by: 'worker-8' }),
  ])

  const request = await shown('requests', 'show', `chatcmpl-${ran.reservationId}`)
  expect(field(request, 'account')).toBe(accountId)
  expect([field(request, 'state'), field(request, 'outcome')]).toEqual(['settled', 'completed'])
  expect([field(request, 'worker'), field(request, 'charged')]).toEqual(['worker-7', '0.00000044'])
  expect(await shown('requests', 'show', strange)).toMatch(/Alarms\n.*\n.* unknown .* worker-8/)
  expect(await ask('requests', 'show', randomUUID())).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^There is no request .*\(not_found\)\n$/),
  })
  expect(await shown('alarms', '--kind', 'unknown')).toContain(strange)

  const days = ['--from', '2030-01-01', '--to', '2030-01-02', '--account', accountId]
  const usage = (await shown('usage', ...days, '--by', 'day,model')).trim().split('\n')
  expect(usage.map((line) => line.split(/ {2,}/))).toEqual([
    ['day', 'model', 'requests', 'prompt', 'cached', 'completion', 'cost', 'charged', 'written off'].flat(),
    ['2030-01-01', 'chat', '1', '90', '40', '30', '0.00000044', '0.00000044', '0'],
  ])

  expect(await shown('holds', 'list', '--account', accountId)).toMatch(
    new RegExp(`^${stuck.reservationId} .* 0.0000007 `, 'm'),
  )
  const released = await shown('holds', 'release', stuck.reservationId, '--reason', 'stuck')
  expect(field(released, 'freed')).toBe('0.0000007')
  expect(await ask('holds', 'list', '--account', accountId)).toEqual({
    code: 0,
    stdout: '',
    stderr: 'nothing found\n',
  })

  const [late, running] = [reserveCall(keyId), reserveCall(keyId, { deadlineMs: START_MS + 900_000 })]
  await database.money.reserve([late])
  await setWatermark(database, 'chat', late.deadlineMs + 120_000)
  database.clock.nowMs += 700_000
  await database.money.expire(10)
  await database.money.reserve([running])
  await database.money.settle([settlement(late.reservationId)])
  expect(await shown('write-offs', '--account', accountId)).toMatch(
    new RegExp(`^${late.reservationId} .* 0.0000007 +0.00000026 +0.00000044 +yes `, 'm'),
  )

  const csv = await shown('ledger', 'export', '--account', accountId, '--format', 'csv')
  const jsonl = await shown('ledger', 'export', '--account', accountId, '--limit', '1')
  expect(csv.split('\r\n').map((line) => line.split(',')[1])).toEqual([
    'kind',
    'topup',
    'charge',
    'charge',
    undefined,
  ])
  expect(JSON.parse(jsonl)).toMatchObject({ kind: 'topup', amountNano: '1400' })
})

test('lists end at the limit, and continue at the cursor', async () => {
  for (const name of ['one', 'two', 'three']) {
    await database.operator.ask('POST', '/accounts', { name: `page ${name}` })
    database.clock.nowMs += 1_000
  }
  const first = await ask('accounts', 'list', '--name', 'page', '--limit', '2', '--json')
  const page = Listed.parse(JSON.parse(first.stdout))
  expect(page.data).toHaveLength(2)
  expect(first.stderr).toBe(`there is more: continue with --cursor ${page.nextCursor}\n`)
  const rest = await exact(Listed, 'accounts', 'list', '--name', 'page', '--cursor', page.nextCursor ?? '')
  expect(rest).toMatchObject({ data: [{ name: 'page one' }], nextCursor: null })
})

test('credentials: create, list, revoke; whoami; a role is refused what it may not do', async () => {
  const name = `helpdesk ${randomUUID()}`
  const created = await shown('credentials', 'create', name, 'support')
  const token = created.trim().split('\n').at(-2) ?? ''
  const asHelpdesk = async (...words: string[]) => {
    const tokenFile = join(scratchFolder('token'), 'token')
    writeFileSync(tokenFile, `${token}\n`)
    return await millrace([...words, '--url', url, '--token-file', tokenFile])
  }
  expect(await asHelpdesk('whoami')).toEqual({
    code: 0,
    stdout: `name  ${name}\nrole  support\n`,
    stderr: '',
  })
  expect(await asHelpdesk('credentials', 'list')).toMatchObject({
    code: 1,
    stderr: 'This needs the role owner; the token has the role support. (forbidden)\n',
  })
  const list = await shown('credentials', 'list')
  expect(list).toMatch(new RegExp(`${name} +support`))
  expect(list).not.toContain(token)
  const revoked = await shown('credentials', 'revoke', field(created, 'credential') ?? '', '--reason', 'left')
  expect(field(revoked, 'revoked')).toBe('2030-01-01 00:00:00Z')
  expect(await asHelpdesk('whoami')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('invalid_token'),
  })
})

test('reconcile ends with 1 when the books do not agree, and with 0 when they do', async () => {
  const { accountId } = await database.createAccount(1_000n)
  expect(await shown('reconcile', '--whole')).toContain('The books agree.')
  const counts = [
    { question: 'balance', rows: 0 },
    { question: 'held', rows: 2 },
  ]
  await database.pool.query('insert into reconciliation_runs (at, counts) values ($1, $2)', [
    new Date(START_MS),
    JSON.stringify(counts),
  ])
  expect(await shown('reconciliations')).toMatch(/^2030-01-01 00:00:00Z +no +held: 2$/m)
  await database.pool.query('select from seal_ledger(at => $1)', [new Date(START_MS)])
  expect(await shown('seals')).toMatch(/^2030-01-01 +\d+ +\d+ +\d+ +[0-9a-f]{64} +2030-01-01 00:00:00Z$/m)

  await database.pool.query('update accounts set posted = posted + 1 where id = $1', [accountId])
  const bad = await ask('reconcile', '--whole')
  expect(bad).toMatchObject({ code: 1, stderr: '' })
  expect(bad.stdout).toContain('THE BOOKS DO NOT AGREE')
  expect(await ask('reconcile', '--whole', '--json')).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('"agrees": false'),
  })
  await database.pool.query('update accounts set posted = posted - 1 where id = $1', [accountId])
  expect((await ask('reconcile')).code).toBe(0)
})

test('a wrong token and a wrong address are refused', async () => {
  const env = { MILLRACE_ADMIN_TOKEN: 'wrong-token' }
  expect(await millrace(['whoami', '--url', url], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('(invalid_token)'),
  })
  expect(await ask('whoami', '--url', `${url}/elsewhere`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('(not_found)'),
  })
})

test('every command is called here or in a test file of its own', () => {
  const elsewhere =
    /^(models (add|check)|workers .*|chat|console|top|ledger (months|archive|verify)|management-keys .*|requests list|state|sessions .*)$/u
  const names = COMMANDS.map(({ name }) => name).filter((name) => !elsewhere.test(name))
  expect(names.filter((name) => !asked.some((words) => `${words} `.startsWith(`${name} `)))).toEqual([])
})
