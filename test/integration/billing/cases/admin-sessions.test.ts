import { randomUUID } from 'node:crypto'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { createAdminServer } from '#apps/billing/admin/serve-admin.ts'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import { createReconcile } from '#apps/billing/books/reconcile.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Session } from '#libs/admin-contract/resources/sessions.ts'
import { live, log, type BillingDatabase } from '../support/billing-database.ts'
import { createOperator, refusal, signUp, type Operator } from '../support/operator.ts'
import { test as base } from '../support/file-database-test.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const test = base
  .extend(
    'as',
    ({ database }) =>
      (token: string) =>
        createOperator(database.admin, token),
  )
  .extend(
    'claim',
    ({ as }) =>
      (ticket: string) =>
        as(ticket).ask('POST', '/sessions/claim', {}),
  )
  .extend(
    'statusOf',
    ({ as }) =>
      async (token: string) =>
        (await as(token).ask('GET', '/accounts')).status,
  )
test.beforeEach(({ database }) => {
  database.clock.nowMs += 24 * HOUR_MS
})

const INVALID = { status: 401, body: refusal('invalid_token') }

async function open(operator: Operator, userAgent?: string): Promise<{ token: string; session: Session }> {
  const opened = await operator.call(ADMIN.openSession, { userAgent })
  if (opened.kind !== 'session') throw new Error('it is a ticket')
  return opened
}

async function takeTicket(operator: Operator): Promise<string> {
  const opened = await operator.call(ADMIN.openSession, { ticket: true })
  if (opened.kind !== 'ticket') throw new Error('it is a session')
  return opened.ticket
}

describe('a session', () => {
  test('has the name and the role of its credential, and its changes are audited under that name', async ({
    database,
    as,
  }) => {
    const { operator } = await signUp(database, 'support')
    const { token, session } = await open(operator, 'a browser')
    expect(token).toMatch(/^mr_session_[\w-]{43}$/)
    const me = await as(token).call(ADMIN.whoAmI, {})
    expect(me).toEqual({ name: session.name, role: 'support', session })
    expect(session).toMatchObject({ userAgent: 'a browser', open: true, endedAt: null })
    expect(Date.parse(session.expiresAt) - Date.parse(session.createdAt)).toBe(12 * HOUR_MS)
    const { id } = await as(token).call(ADMIN.createAccount, { name: 'Ada' })
    const { data } = await database.operator.call(ADMIN.listAudit, { target: id })
    expect(data).toMatchObject([{ actor: session.name, role: 'support', action: 'createAccount' }])
    const { status, body } = await as(token).ask('POST', '/catalog', { models: [] })
    expect([status, body]).toEqual([403, refusal('forbidden')])
  })

  test('is stored as a hash only', async ({ database }) => {
    const tokens = [await takeTicket(database.operator), (await open(database.operator)).token]
    const { rows } = await database.pool.query<{ everything: string }>(
      'select s::text as everything from admin_sessions s union all select a::text from admin_audit a',
    )
    expect(rows.length).toBeGreaterThan(3)
    for (const token of tokens) {
      expect(rows.filter(({ everything }) => everything.includes(token))).toEqual([])
    }
  })

  test('lasts 12 hours, however much it is used', async ({ database, as, statusOf }) => {
    const { token } = await open(database.operator)
    for (let half = 1; half <= 24; half += 1) {
      expect(await statusOf(token)).toBe(200)
      database.clock.nowMs += HOUR_MS / 2 - 1
    }
    expect(await statusOf(token)).toBe(200)
    database.clock.nowMs += MINUTE_MS
    expect(await as(token).ask('GET', '/me')).toEqual(INVALID)
  })

  test('lasts an hour without a request', async ({ database, as, statusOf }) => {
    const [idle, used] = [await open(database.operator), await open(database.operator)]
    database.clock.nowMs += HOUR_MS - 1
    expect(await statusOf(used.token)).toBe(200)
    database.clock.nowMs += 1
    expect(await as(idle.token).ask('GET', '/me')).toEqual(INVALID)
    database.clock.nowMs += HOUR_MS - 2
    expect(await statusOf(used.token)).toBe(200)
  })

  test('ends by signing out, once', async ({ database, as, statusOf }) => {
    const { operator } = await signUp(database, 'viewer')
    const { token, session } = await open(operator)
    const other = await open(operator)
    expect(await as(token).ask('POST', '/sessions/current/end')).toMatchObject({
      status: 200,
      body: { id: session.id, open: false, endedAt: new Date(database.clock.nowMs).toISOString() },
    })
    expect(await as(token).ask('GET', '/me')).toEqual(INVALID)
    expect(await statusOf(other.token)).toBe(200)
    const again = await operator.ask('POST', `/sessions/${session.id}/end`)
    expect(again).toMatchObject({ status: 200, body: { open: false } })
    const { data } = await database.operator.call(ADMIN.listAudit, { target: session.id })
    expect(data.map(({ action }) => action)).toEqual(['endSession', 'openSession'])
    expect(await operator.ask('POST', '/sessions/current/end')).toEqual({
      status: 404,
      body: refusal('not_found'),
    })
  })

  test('ends with its credential, also one that was opened while that was revoked', async ({
    database,
    as,
    claim,
  }) => {
    const { id, operator } = await signUp(database, 'ops')
    const { token, session } = await open(operator)
    const ticket = await takeTicket(operator)
    await database.operator.call(ADMIN.revokeCredential, { credential: id })
    expect(await as(token).ask('GET', '/me')).toEqual(INVALID)
    expect(await claim(ticket)).toEqual(INVALID)
    const { data } = await database.operator.call(ADMIN.listSessions, {})
    expect(data.find((listed) => listed.id === session.id)).toMatchObject({ open: false })
    await database.pool.query('update admin_sessions set ended_at = null where id = $1', [session.id])
    expect(await as(token).ask('GET', '/me')).toEqual(INVALID)
  })

  test('of the configured token ends with that token', async ({ database, statusOf }) => {
    const { token } = await open(database.operator)
    const ticket = await takeTicket(database.operator)
    const app = createAdminServer({
      keepAliveTimeoutMs: 72_000,
      db: toKysely(database.servicePool),
      reconcile: createReconcile(database.servicePool),
      adminToken: 'another-token-of-the-tests',
      keepMonths: 3,
      live,
      nowMs: () => database.clock.nowMs,
      log,
    })
    const ask = (bearer: string) => createOperator(app, bearer)
    expect(await ask(token).ask('GET', '/me')).toEqual(INVALID)
    expect(await ask(ticket).ask('POST', '/sessions/claim', {})).toEqual(INVALID)
    const credential = await signUp(database, 'ops')
    expect((await ask((await open(credential.operator)).token).ask('GET', '/me')).status).toBe(200)
    await app.close()
    expect(await statusOf(token)).toBe(200)
  })

  test('cannot open another one, nor get a ticket', async ({ database, as }) => {
    const { token } = await open(database.operator)
    for (const ticket of [true, false]) {
      expect(await as(token).ask('POST', '/sessions', { ticket })).toEqual({
        status: 403,
        body: refusal('forbidden'),
      })
    }
  })

  test('creates and revokes credentials for its first 10 minutes', async ({ database, as }) => {
    const owner = await signUp(database, 'owner')
    const { token } = await open(owner.operator)
    database.clock.nowMs += 10 * MINUTE_MS - 1
    const create = () => as(token).ask('POST', '/credentials', { name: randomUUID(), role: 'ops' })
    const { id } = z.object({ id: z.string() }).parse((await create()).body)
    database.clock.nowMs += 1
    const stale = { status: 403, body: refusal('stale_session') }
    expect(await create()).toEqual(stale)
    expect(await as(token).ask('POST', `/credentials/${id}/revoke`)).toEqual(stale)
    expect((await owner.operator.ask('POST', `/credentials/${id}/revoke`)).status).toBe(200)
  })

  test('beyond the hundredth of a credential ends the one that was not used for the longest time', async ({
    database,
    statusOf,
  }) => {
    const { operator } = await signUp(database, 'viewer')
    const sessions: string[] = []
    for (let count = 0; count < 100; count += 1) {
      database.clock.nowMs += SECOND_MS
      sessions.push((await open(operator)).token)
    }
    database.clock.nowMs += 5 * MINUTE_MS
    const [first = '', second = '', third = ''] = sessions
    expect(await statusOf(first)).toBe(200)
    await open(operator)
    expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([200, 401, 200])
  })
})

describe('a ticket', () => {
  test('is claimed once, also by two at the same time', async ({ database, as, claim }) => {
    const ticket = await takeTicket(database.operator)
    expect(ticket).toMatch(/^mr_ticket_[\w-]{43}$/)
    const blocker = await database.pool.connect()
    await blocker.query('begin; select from admin_sessions where ticket_sha256 is not null for update')
    const claims = Promise.all([claim(ticket), claim(ticket), claim(ticket)])
    await expect.poll(() => countWaiting(database)).toBe(3)
    await blocker.query('rollback')
    blocker.release()
    const answers = await claims
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401])
    expect(await claim(ticket)).toEqual(INVALID)
    const won = answers.find(({ status }) => status === 201)
    const { token } = z.object({ kind: z.literal('session'), token: z.string() }).parse(won?.body)
    expect((await as(token).ask('GET', '/me')).body).toMatchObject({ name: 'bootstrap', role: 'owner' })
  })

  test('lasts 60 seconds, and its session begins with the claim', async ({ database, claim }) => {
    const { operator } = await signUp(database, 'ops')
    const [late, inTime] = [await takeTicket(operator), await takeTicket(operator)]
    database.clock.nowMs += 60 * SECOND_MS - 1
    expect(await claim(inTime)).toMatchObject({
      status: 201,
      body: { session: { createdAt: new Date(database.clock.nowMs).toISOString(), role: 'ops' } },
    })
    database.clock.nowMs += 1
    expect(await claim(late)).toEqual(INVALID)
  })

  test('does nothing else, and is not used up by it', async ({ database, as, claim }) => {
    const ticket = await takeTicket(database.operator)
    for (const [, { method, path }] of Object.entries(ADMIN)) {
      if (path === ADMIN.claimSession.path) continue
      const answer = await as(ticket).ask(method, path.replaceAll(/\{\w+\}/g, randomUUID()))
      expect([path, answer]).toEqual([path, INVALID])
    }
    expect(await as(ticket).ask('GET', '/openapi.json')).toEqual(INVALID)
    expect((await claim(ticket)).status).toBe(201)
  })

  test('is what claimSession needs: no other token will do', async ({ database, as, claim }) => {
    const { token } = await open(database.operator)
    expect(await as(token).ask('POST', '/sessions/claim', {})).toEqual(INVALID)
    expect(await database.operator.ask('POST', '/sessions/claim', {})).toEqual(INVALID)
    expect(await claim('mr_ticket_guess')).toEqual(INVALID)
  })
})

describe('sessions', () => {
  test('are listed and ended by an owner, and by others their own', async ({ database, statusOf }) => {
    const [ada, bob] = [await signUp(database, 'support'), await signUp(database, 'viewer')]
    const [ofAda, ofBob] = [await open(ada.operator), await open(bob.operator)]
    const idsOf = async (operator: Operator) =>
      (await operator.call(ADMIN.listSessions, { open: 'true' })).data.map(({ id }) => id)
    expect(await idsOf(bob.operator)).toEqual([ofBob.session.id])
    expect((await idsOf(database.operator)).toSorted()).toEqual(
      [ofAda.session.id, ofBob.session.id].toSorted(),
    )
    expect(await bob.operator.ask('POST', `/sessions/${ofAda.session.id}/end`)).toEqual({
      status: 404,
      body: refusal('not_found'),
    })
    expect(await statusOf(ofAda.token)).toBe(200)
    await database.operator.call(ADMIN.endSession, { session: ofAda.session.id })
    expect(await statusOf(ofAda.token)).toBe(401)
    expect(await idsOf(database.operator)).toEqual([ofBob.session.id])
    const ended = await database.operator.call(ADMIN.listSessions, { open: 'false', limit: 500 })
    expect(ended.data.map(({ id }) => id)).toContain(ofAda.session.id)
  })

  test('come in pages, also those that began at the same moment', async ({ database }) => {
    const { operator } = await signUp(database, 'ops')
    const opened: string[] = []
    for (let count = 0; count < 5; count += 1) opened.push((await open(operator)).session.id)
    const listed: string[] = []
    let cursor: string | undefined
    do {
      const page = await operator.call(ADMIN.listSessions, { limit: 2, cursor })
      listed.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(listed.toSorted()).toEqual(opened.toSorted())
  })

  test('are deleted 30 days after they began, and tickets that were not claimed', async ({ database }) => {
    await open(database.operator)
    await takeTicket(database.operator)
    database.clock.nowMs += 30 * 24 * HOUR_MS + 1
    await takeTicket(database.operator)
    const { rows } = await database.pool.query('select created_at from admin_sessions')
    expect(rows).toEqual([{ created_at: new Date(database.clock.nowMs) }])
  })
})

async function countWaiting(database: BillingDatabase): Promise<number> {
  const { rows } = await database.pool.query(
    "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'update \"admin_sessions\"%' and datname = current_database()",
  )
  return rows.length
}
