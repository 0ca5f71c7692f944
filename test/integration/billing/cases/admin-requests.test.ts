import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { toCursor } from '#apps/billing/admin/list-page.ts'
import { createAdminServer } from '#apps/billing/admin/serve-admin.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import { createReconcile } from '#apps/billing/books/reconcile.ts'
import { createOperator, refusal, type Operator } from '../support/operator.ts'
import { ADMIN_TOKEN, CHAT, live, log } from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'

describe('requests', () => {
  test('are read as JSON whatever their content type, which curl declares as a form', async ({
    database,
  }) => {
    const response = await database.admin.inject({
      method: 'POST',
      url: '/admin/v1/accounts',
      headers: {
        authorization: `Bearer ${ADMIN_TOKEN}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      payload: '{"name":"Ada"}',
    })
    expect(response.statusCode).toBe(201)
  })

  test('of an unknown operation, not JSON, malformed or too large are refused with an error object', async ({
    database,
    ask,
  }) => {
    expect(await ask('GET', '/nowhere')).toEqual({ status: 404, body: refusal('not_found') })
    expect(await ask('GET', '/accounts/%zz')).toEqual({ status: 400, body: refusal('invalid_request') })
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const post = async (payload: string) => {
      const response = await database.admin.inject({
        method: 'POST',
        url: '/admin/v1/accounts',
        headers,
        payload,
      })
      return { status: response.statusCode, body: response.json() }
    }
    expect(await post('{')).toEqual({ status: 400, body: refusal('invalid_request') })
    expect(await post(`"${'x'.repeat(1_100_000)}"`)).toEqual({
      status: 413,
      body: refusal('request_too_large'),
    })
  })

  test.for([
    ['/accounts?limit=0', 'limit'],
    ['/accounts?limit=501', 'limit'],
    ['/accounts?cursor=x', 'cursor'],
    ['/accounts?size=1', 'size'],
    ['/accounts/not-an-id', 'account'],
  ] as const)('that are wrong name the field: %s', async ([path, param], { ask }) => {
    expect(await ask('GET', path)).toEqual({ status: 400, body: refusal('invalid_request', param) })
  })

  test.for<[string, Parameters<Operator['ask']>]>([
    ['name', ['POST', '/accounts', { name: 'a\0b' }]],
    ['reason', ['POST', '/accounts', { name: 'a', reason: 'half of a pair: \ud800' }]],
    [
      'idempotencyKey',
      ['POST', `/accounts/${randomUUID()}/topups`, { credits: '1', reason: 'x', idempotencyKey: '\0' }],
    ],
    ['models.0', ['POST', `/accounts/${randomUUID()}/keys`, { models: ['\0'] }]],
    ['name', ['POST', '/credentials', { name: '\0', role: 'ops' }]],
    ['models.0.ownedBy', ['POST', '/catalog', { models: [{ ...CHAT, ownedBy: '\0' }] }]],
    ['name', ['GET', '/accounts?name=%00']],
    ['actor', ['GET', '/audit?actor=%00']],
    ['model', ['GET', '/holds?model=%00']],
    ['prefix', ['GET', '/keys?prefix=%00']],
    ['last4', ['GET', '/keys?last4=abc%00']],
    ['model', ['GET', '/price-versions?model=%00']],
    ['model', ['GET', '/usage?from=2030-01-01&to=2030-01-01&model=%00']],
    ['cursor', ['GET', `/usage?from=2030-01-01&to=2030-01-01&cursor=${toCursor('["\\u0000","","",""]')}`]],
  ])('with text that cannot be stored name the field: %s of %j', async ([param, asked], { ask }) => {
    expect(await ask(...asked)).toEqual({ status: 400, body: refusal('invalid_request', param) })
  })

  test('for reconciliations leave connections for other requests', async ({ database, ask }) => {
    const blocker = await database.pool.connect()
    await blocker.query('begin; lock table accounts in access exclusive mode')
    const comparisons = [1, 2, 3].map(() => ask('GET', '/reconciliation'))
    expect(await Promise.race(comparisons)).toEqual({ status: 503, body: refusal('unavailable') })
    await blocker.query('rollback')
    blocker.release()
    const statuses = (await Promise.all(comparisons)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 503])
    expect((await ask('GET', '/reconciliation')).status).toBe(200)
  })

  test('that the database does not answer are refused as unavailable', async ({ database }) => {
    const pool = await openPool({
      url: database.url,
      bounds: { connections: 1, statementMs: 50 },
      log,
      waitMs: 5_000,
    })
    const reconcile = createReconcile(pool)
    const app = createAdminServer({
      keepAliveTimeoutMs: 72_000,
      db: toKysely(pool),
      reconcile,
      adminToken: ADMIN_TOKEN,
      keepMonths: 3,
      live,
      nowMs: Date.now,
      log,
    })
    const blocker = await database.pool.connect()
    await blocker.query('begin; lock table accounts in access exclusive mode')
    const answer = await createOperator(app, ADMIN_TOKEN).ask('GET', '/accounts')
    await blocker.query('rollback')
    blocker.release()
    expect(answer).toEqual({ status: 503, body: refusal('unavailable') })
    await app.close()
    await pool.end()
  })
})
