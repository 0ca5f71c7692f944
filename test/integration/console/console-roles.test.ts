import { expect } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import type { Operation } from '#libs/admin-contract/operation.ts'
import { HEADERS, test as base } from './console-test.ts'

const CUSTOMERS = [
  'adjust',
  'changeAccount',
  'changeKey',
  'closeAccount',
  'createAccount',
  'createKey',
  'createManagementKey',
  'disableKey',
  'enableKey',
  'reopenAccount',
  'revokeKey',
  'revokeManagementKey',
  'rotateKey',
  'topUp',
]
const SERVICE = ['exportMonth', 'publishCatalog', 'reconcile', 'releaseHold']
const OWNER = ['archiveMonth', 'createCredential', 'listCredentials', 'revokeCredential']

/** The operations that each role is refused. The console serves neither openSession nor claimSession. */
const REFUSED = {
  owner: [],
  support: [...SERVICE, ...OWNER],
  ops: [...CUSTOMERS, ...OWNER],
  viewer: [...CUSTOMERS, ...SERVICE, ...OWNER],
} as const

const test = base
  .extend('app', async ({ createConsole }, { onCleanup }) => {
    const app = createConsole()
    onCleanup(() => app.close())
    return app
  })
  .extend('openSession', ({ database, app }) => async (role: keyof typeof REFUSED, name: string) => {
    const { token, id } = await database.operator.call(ADMIN.createCredential, { name, role })
    const asked = { method: 'POST', url: '/api/session', headers: HEADERS, payload: { token } } as const
    const response = await app.inject(asked)
    return { cookie: String(response.headers['set-cookie']).split(';')[0] ?? '', credential: id }
  })

/** Returns the URL of an operation, with ids that do not exist. */
function toUrl({ path }: Operation): string {
  return `/api/admin${path.replaceAll(/\{\w+\}/g, '00000000-0000-7000-8000-000000000000')}`
}

test.for(['owner', 'support', 'ops', 'viewer'] as const)(
  'a session of the role %s is refused what the role may not do, and nothing else',
  async (role, { database, app, openSession }) => {
    const { cookie } = await openSession(role, `a ${role}`)
    const before = await database.operator.ask('GET', '/audit')
    const refused: string[] = []
    const done: (readonly [id: string, status: number])[] = []
    for (const [id, operation] of Object.entries<Operation>(ADMIN)) {
      const { statusCode } = await app.inject({
        method: operation.method,
        url: toUrl(operation),
        headers: { ...HEADERS, cookie },
        // No operation accepts this field, so no operation that the role may call changes anything.
        ...(operation.kind === 'change' ? { payload: { nothing: 'is done' } } : {}),
      })
      if (statusCode === 403) refused.push(id)
      else if (operation.kind === 'change' && statusCode !== 400 && statusCode !== 404)
        done.push([id, statusCode])
    }
    expect(new Set(refused)).toEqual(new Set<string>(REFUSED[role]))
    expect(done).toEqual([])
    expect(await database.operator.ask('GET', '/audit')).toEqual(before)
  },
)

test('a session whose credential is revoked reads and changes nothing more, and its cookie is cleared', async ({
  database,
  app,
  openSession,
}) => {
  const change = { method: 'POST', url: '/api/admin/accounts', payload: { name: 'made' } } as const
  const { cookie, credential } = await openSession('support', 'revoked later')
  const headers = { ...HEADERS, cookie }
  expect((await app.inject({ ...change, headers })).statusCode).toBe(201)
  await database.operator.call(ADMIN.revokeCredential, { credential })
  const refused = await app.inject({ ...change, headers })
  expect(refused.statusCode).toBe(401)
  expect(String(refused.headers['set-cookie'])).toMatch(/^__Host-mr=; Max-Age=0/)
  expect((await app.inject({ url: '/api/admin/me', headers })).statusCode).toBe(401)
})
