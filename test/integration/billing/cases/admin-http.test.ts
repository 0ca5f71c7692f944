import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { describe, expect } from 'vitest'
import { OPERATIONS } from '#apps/billing/admin/operations.ts'
import { createAdminServer } from '#apps/billing/admin/serve-admin.ts'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { toKysely } from '#apps/billing/database/to-kysely.ts'
import { createReconcile } from '#apps/billing/books/reconcile.ts'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Role } from '#libs/admin-contract/roles.ts'
import { createOperator, refusal, signUp } from '../support/operator.ts'
import { ADMIN_TOKEN, live, log } from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'

describe('signing in', () => {
  test.for([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer something-else' }],
    ['a part of the token', { authorization: `Bearer ${ADMIN_TOKEN.slice(0, -1)}` }],
    ['the token without its scheme', { authorization: ADMIN_TOKEN }],
  ] as const)('with %s is refused', async ([, headers], { database }) => {
    for (const url of ['/admin/v1/me', '/admin/v1/openapi.json', '/admin/v1/nowhere', '/elsewhere']) {
      const response = await database.admin.inject({ method: 'GET', url, headers })
      expect([response.statusCode, response.json()]).toEqual([401, refusal('invalid_token')])
    }
  })

  test('with the configured token makes an owner, also while the database is away', async ({
    database,
    ask,
  }) => {
    expect(await ask('GET', '/me')).toEqual({
      status: 200,
      body: { name: 'bootstrap', role: 'owner', session: null },
    })
    const app = await withoutDatabase(database)
    expect((await createOperator(app, ADMIN_TOKEN).ask('GET', '/me')).status).toBe(200)
    await app.close()
  })

  test('with a token that cannot be a credential is refused without the database', async ({ database }) => {
    const app = await withoutDatabase(database)
    const answer = await createOperator(app, 'something-else').ask('GET', '/me')
    expect(answer).toEqual({ status: 401, body: refusal('invalid_token') })
    await app.close()
  })

  test('with a credential has its role', async ({ database }) => {
    const { operator } = await signUp(database, 'support')
    expect((await operator.ask('GET', '/me')).body).toMatchObject({ role: 'support' })
  })

  test('with a revoked credential is refused at once', async ({ database, ask }) => {
    const { id, operator } = await signUp(database, 'owner')
    const revoked = await ask('POST', `/credentials/${id}/revoke`, { reason: 'left' })
    expect(revoked).toMatchObject({ status: 200, body: { revokedAt: '2030-01-01T00:00:00.000Z' } })
    expect(await operator.ask('GET', '/me')).toEqual({ status: 401, body: refusal('invalid_token') })
    expect(await ask('POST', `/credentials/${id}/revoke`)).toEqual(revoked)
  })
})

describe('credentials', () => {
  test('show their token once and store its hash only', async ({ database, ask }) => {
    const { id, token } = await signUp(database, 'ops')
    const { body } = await ask('GET', '/credentials')
    expect(JSON.stringify(body)).toContain(id)
    expect(JSON.stringify(body)).not.toContain(token)
    const { rows } = await database.pool.query<{ everything: string }>(
      'select c::text as everything from admin_credentials c union all select a::text from admin_audit a',
    )
    expect(rows.length).toBeGreaterThan(1)
    expect(rows.filter(({ everything }) => everything.includes(token))).toEqual([])
  })

  test('have unique names, for the audit log', async ({ ask }) => {
    await ask('POST', '/credentials', { name: 'Ada', role: 'ops' })
    for (const name of ['Ada', 'bootstrap']) {
      const answer = await ask('POST', '/credentials', { name, role: 'ops' })
      expect(answer).toEqual({ status: 409, body: refusal('conflict', 'name') })
    }
  })

  test('have a known role', async ({ ask }) => {
    const answer = await ask('POST', '/credentials', { name: 'Bob', role: 'king' })
    expect(answer).toEqual({ status: 400, body: refusal('invalid_request', 'role') })
  })
})

describe('roles', () => {
  /** The operations that a role may not call. */
  const forbidden = (role: Role): string[] =>
    Object.entries(ADMIN).flatMap(([id, { roles }]) =>
      roles.some((allowed) => allowed === role) ? [] : [id],
    )

  test('are those of the contract, whose operations are all served', () => {
    const served = Object.entries(OPERATIONS).map(([id, { operation }]) => [id, operation.roles])
    expect(Object.fromEntries(served)).toEqual(
      Object.fromEntries(Object.entries(ADMIN).map(([id, { roles }]) => [id, roles])),
    )
  })

  test('allow each role its operations', () => {
    expect(forbidden('owner')).toEqual([])
    expect(forbidden('support').toSorted()).toEqual([
      'archiveMonth',
      'createCredential',
      'exportMonth',
      'listCredentials',
      'publishCatalog',
      'reconcile',
      'releaseHold',
      'revokeCredential',
    ])
    expect(forbidden('ops').toSorted()).toEqual([
      'adjust',
      'archiveMonth',
      'changeAccount',
      'changeKey',
      'closeAccount',
      'createAccount',
      'createCredential',
      'createKey',
      'createManagementKey',
      'disableKey',
      'enableKey',
      'listCredentials',
      'reopenAccount',
      'revokeCredential',
      'revokeKey',
      'revokeManagementKey',
      'rotateKey',
      'topUp',
    ])
    const changes = Object.entries(ADMIN).flatMap(([id, { kind }]) => (kind === 'change' ? [id] : []))
    const ofSessions = ['claimSession', 'endSession', 'openSession']
    expect(changes.length).toBeGreaterThan(15)
    expect(forbidden('viewer').toSorted()).toEqual(
      [
        ...changes.filter((id) => !ofSessions.includes(id)),
        'exportMonth',
        'listCredentials',
        'reconcile',
      ].toSorted(),
    )
  })

  test.for<Role>(['owner', 'support', 'ops', 'viewer'])(
    'of %s are checked by every operation before its request is validated',
    async (role, { database }) => {
      const { operator } = await signUp(database, role)
      const refused: { id: string; body: unknown }[] = []
      for (const [id, { method, path: template }] of Object.entries(ADMIN)) {
        const path = template.replaceAll(/\{\w+\}/g, randomUUID())
        const { status, body } = await operator.ask(
          method,
          path,
          method === 'GET' ? undefined : { nonsense: 1 },
        )
        if (status === 403) refused.push({ id, body })
      }
      const rolesOf = new Map<string, readonly Role[]>(
        Object.entries(ADMIN).map(([id, { roles }]) => [id, roles]),
      )
      const message = (id: string) => expect.stringContaining(`the role ${rolesOf.get(id)?.join(' or ')};`)
      expect(refused).toEqual(
        forbidden(role).map((id) => ({
          id,
          body: { error: { ...refusal('forbidden').error, message: message(id) } },
        })),
      )
    },
  )
})

test('refused attempts are in the log with the actor and without any token', async ({ database }) => {
  const lines: string[] = []
  const app = createAdminServer({
    keepAliveTimeoutMs: 72_000,
    db: toKysely(database.servicePool),
    reconcile: createReconcile(database.servicePool),
    adminToken: ADMIN_TOKEN,
    keepMonths: 3,
    live,
    nowMs: Date.now,
    log: pino({}, { write: (line) => lines.push(line) }),
  })
  const { token } = await signUp(database, 'ops')
  await createOperator(app, token).ask('POST', `/keys/${randomUUID()}/revoke`)
  await createOperator(app, 'mr_admin_guess').ask('GET', '/accounts')
  await app.close()
  const refused = { level: 40, msg: 'admin request refused' }
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      ...refused,
      code: 'forbidden',
      actor: { name: expect.stringMatching(/^ops /), role: 'ops' },
      method: 'POST',
      route: '/admin/v1/keys/:key/revoke',
    },
    { ...refused, code: 'invalid_token', method: 'GET', route: '/admin/v1/accounts', ip: '127.0.0.1' },
  ])
  expect(lines.join('')).not.toMatch(new RegExp(`${token}|guess`))
})

describe('the audit log', () => {
  test('is found by an id, also where the request had it in capitals', async ({ database, ask }) => {
    const id = await database.operator.createAccount()
    await ask('POST', `/accounts/${id.toUpperCase()}/close`, { reason: 'unpaid' })
    const { body } = await ask('GET', `/audit?target=${id}&action=closeAccount`)
    expect(body).toMatchObject({ data: [{ target: id, reason: 'unpaid' }] })
  })

  test('and its change are stored both or not at all', async ({ database, ask }) => {
    await database.pool.query('alter table admin_audit add constraint full_up check (false) not valid')
    const before = await database.pool.query('select count(*)::int as count from accounts')
    expect((await ask('POST', '/accounts', { name: 'Ada' })).status).toBe(500)
    expect((await database.pool.query('select count(*)::int as count from accounts')).rows).toEqual(
      before.rows,
    )
    await database.pool.query('alter table admin_audit drop constraint full_up')
  })

  test('has no entry of a change whose commit failed', async ({ database, ask }) => {
    await database.pool.query(`
      create function refuse_account() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create constraint trigger at_commit after insert on accounts deferrable initially deferred
        for each row execute function refuse_account()`)
    const log = await ask('GET', '/audit')
    expect((await ask('POST', '/accounts', { name: 'Ada' })).status).toBe(500)
    expect(await ask('GET', '/audit')).toEqual(log)
    await database.pool.query('drop trigger at_commit on accounts')
  })
})

/** Returns an administrators' server whose connections to the database are closed. */
async function withoutDatabase({ url }: { url: string }) {
  const pool = await openPool({ url, log, waitMs: 5_000 })
  await pool.end()
  return createAdminServer({
    keepAliveTimeoutMs: 72_000,
    db: toKysely(pool),
    reconcile: createReconcile(pool),
    adminToken: ADMIN_TOKEN,
    keepMonths: 3,
    live,
    nowMs: Date.now,
    log,
  })
}
