import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { z } from 'zod'
import { describeAdmin } from '#apps/billing/admin/describe-admin.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { createConformance } from '#test/support/openapi-conformance.ts'
import { findOpenApiProblems } from '#test/support/openapi-problems.ts'
import {
  ADMIN_TOKEN,
  CHAT,
  EMBED,
  ODD,
  START_MS,
  reserveCall,
  settlement,
} from '../support/billing-database.ts'
import { uuidV7 } from '../../../support/uuid-v7.ts'
import { test as billingTest } from '../support/billing-test.ts'

const document = describeAdmin()
const conformance = createConformance(document)

const test = billingTest.extend('base', { scope: 'file' }, async ({ fileDatabase }) => {
  return `${await fileDatabase.admin.listen({ host: '127.0.0.1', port: 0 })}/admin/v1`
})

const AUTHORIZED = { authorization: `Bearer ${ADMIN_TOKEN}` }

test('the description is served, and is valid OpenAPI 3.1', async ({ base }) => {
  const response = await fetch(`${base}/openapi.json`, { headers: AUTHORIZED })
  expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  const served: unknown = await response.json()
  expect(served).toEqual(JSON.parse(JSON.stringify(document)))
  expect(findOpenApiProblems(served)).toBeNull()
})

test('the description has every operation, and every reference in it resolves', () => {
  expect([...conformance.operations.keys()].toSorted()).toEqual(Object.keys(ADMIN).toSorted())
  const text = JSON.stringify(document)
  expect(text).not.toContain('$defs')
  const references = new Set([...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((match) => match[1]))
  expect(references.size).toBeGreaterThan(10)
  expect(
    [...references].filter((name) => !(name !== undefined && name in document.components.schemas)),
  ).toEqual([])
})

const METHODS = new Map(Object.entries(ADMIN).map(([id, { method }]) => [id, method]))

type Ask = { path: string; body?: object; token?: string }

/** Calls an operation, checks its answer against the description, and returns the answer. */
async function ask(
  base: string,
  id: string,
  { path, body, token = ADMIN_TOKEN }: Ask,
): Promise<{ status: number; answer: string }> {
  const method = METHODS.get(id)
  if (method === undefined) throw new Error(`there is no operation ${id}`)
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
  })
  const request = conformance.operations.get(id)?.requestBody?.content['application/json'].schema
  if (response.ok && request !== undefined) conformance.assertValid(request, body ?? {})
  return { status: response.status, answer: await conformance.assertAnswer(id, response) }
}

const WithId = z.object({ id: z.string() })

test('every operation answers as described', async ({ database, base }) => {
  const asked = new Set<string>()
  const demand = async (id: string, path: string, body?: object) => {
    asked.add(id)
    const { status, answer } = await ask(base, id, { path, ...(body && { body }) })
    expect([id, status < 300, answer]).toEqual([id, true, answer])
    return answer
  }
  const made = async (id: string, path: string, body: object) =>
    WithId.parse(JSON.parse(await demand(id, path, body))).id
  const reason = 'a test'

  await demand('whoAmI', '/me')
  const account = await made('createAccount', '/accounts', { name: 'Ada' })
  await demand('topUp', `/accounts/${account}/topups`, { credits: '1', idempotencyKey: 'a', reason })
  await demand('adjust', `/accounts/${account}/adjustments`, { credits: '-0.1', idempotencyKey: 'a', reason })
  await demand('changeAccount', `/accounts/${account}`, { weight: 3, reason })
  await demand('closeAccount', `/accounts/${account}/close`, { reason })
  await demand('reopenAccount', `/accounts/${account}/reopen`, { reason })
  await demand('listAccounts', '/accounts?limit=1')
  await demand('readAccount', `/accounts/${account}`)

  const key = await made('createKey', `/accounts/${account}/keys`, {
    name: 'app',
    expiresAt: '2031-01-01T00:00:00Z',
    models: ['chat'],
    spendLimit: { amountNano: '1000000', period: 'month' },
    requestsPerMinute: 100,
    tokensPerMinute: 100_000,
  })
  await demand('changeKey', `/keys/${key}`, { name: 'application', tokensPerMinute: null })
  await demand('disableKey', `/keys/${key}/disable`)
  await demand('enableKey', `/keys/${key}/enable`)
  // The ids are like a gateway's. A random id may belong to the month that is archived below.
  const call = () => reserveCall(key, { reservationId: uuidV7(START_MS) })
  const [open, done, over] = [call(), call(), call()]
  await database.money.reserve([open, done, over])
  await database.money.settle([
    settlement(done.reservationId),
    settlement(over.reservationId, { completionTokens: 60 }),
    settlement(crypto.randomUUID()),
  ])
  await demand('readKey', `/keys/${key}`)
  await demand('listKeys', '/keys')
  await demand('rotateKey', `/keys/${key}/rotate`, { overlapSeconds: 60 })
  await demand('revokeKey', `/keys/${key}/revoke`)
  const manager = await made('createManagementKey', `/accounts/${account}/management-keys`, { name: 'tool' })
  await demand('listManagementKeys', `/management-keys?account=${account}`)
  await demand('revokeManagementKey', `/management-keys/${manager}/revoke`)

  await demand('listHolds', '/holds')
  await demand('readRequest', `/requests/${open.reservationId}`)
  await demand('releaseHold', `/holds/${open.reservationId}/release`, { reason })
  await demand('readRequest', `/requests/${done.reservationId}`)
  await demand('listRequests', '/requests')
  await demand('summarizeUsage', '/usage?from=2030-01-01&to=2030-01-01')
  await demand('exportLedger', '/ledger')
  await demand('exportLedger', '/ledger?format=csv')
  await demand('listWriteOffs', '/write-offs')
  await demand('listAlarms', '/alarms')

  database.clock.nowMs += 1_000
  const models = [{ ...CHAT, inputPriceNano: '3000000' }, ODD, EMBED]
  await demand('publishCatalog', '/catalog', { models, reason })
  await demand('publishCatalog', '/catalog', {
    models: [CHAT, ODD, EMBED],
    effectiveAt: '2030-02-01T00:00:00Z',
  })
  await demand('readCatalog', '/catalog')
  await demand('listPriceVersions', '/price-versions')

  await database.pool.query("select prepare_months(at => '2029-06-01'), prepare_months(at => $1)", [
    new Date(START_MS),
  ])
  await database.pool.query('select seal_ledger(at => $1)', [new Date(START_MS)])
  await database.pool.query('insert into reconciliation_runs (at, counts) values ($1, $2)', [
    new Date(START_MS),
    JSON.stringify([{ question: 'q', rows: 0 }]),
  ])
  await demand('reconcile', '/reconciliation?whole=true')
  await demand('listReconciliations', '/reconciliation/runs')
  await demand('listSeals', '/seals')
  await demand('readState', '/state')
  await demand('listMonths', '/months')
  const month = '2029-06'
  const fileOf = (text: string) => ({
    lines: text.split('\n').length - 1,
    sha256: createHash('sha256').update(text).digest('hex'),
  })
  const ledger = fileOf(await demand('exportMonth', `/months/lines?month=${month}&part=ledger`))
  // No request was made in that month, so its entries are from the time before it.
  const files = { ledger, usage: fileOf(''), reservations: fileOf('') }
  await demand('archiveMonth', '/months/archive', { month, files, reason })

  const credential = await made('createCredential', '/credentials', { name: 'Bob', role: 'ops' })
  await demand('listCredentials', '/credentials')
  await demand('revokeCredential', `/credentials/${credential}/revoke`)
  await demand('openSession', '/sessions', { userAgent: 'a browser' })
  const { ticket } = z
    .object({ ticket: z.string() })
    .parse(JSON.parse(await demand('openSession', '/sessions', { ticket: true })))
  asked.add('claimSession')
  const claimed = await ask(base, 'claimSession', { path: '/sessions/claim', token: ticket })
  const { token, session } = z
    .object({ token: z.string(), session: WithId })
    .parse(JSON.parse(claimed.answer))
  expect(await ask(base, 'whoAmI', { path: '/me', token })).toMatchObject({ status: 200 })
  await demand('listSessions', '/sessions?open=true')
  await demand('endSession', `/sessions/${session.id}/end`)
  await demand('listAudit', '/audit')
  expect([...asked].toSorted()).toEqual(Object.keys(ADMIN).toSorted())
})

test('every operation refuses a wrong request as described', async ({ base }) => {
  for (const [id, { path: template }] of Object.entries(ADMIN)) {
    const path = template.replaceAll(/\{\w+\}/g, crypto.randomUUID())
    const wrong = await ask(base, id, { path: `${path}?nonsense=1`, body: { nonsense: 1 } })
    expect([id, wrong.status]).toEqual([id, 400])
  }
})

const READS_BY_ID = Object.entries(ADMIN).filter(
  ([, { path, method }]) => path.includes('{') && method === 'GET',
)

test.for(READS_BY_ID)('%s answers not_found for an unknown id', async ([id, { path }], { base }) => {
  const { status } = await ask(base, id, { path: path.replaceAll(/\{\w+\}/g, crypto.randomUUID()) })
  expect(status).toBe(404)
})
