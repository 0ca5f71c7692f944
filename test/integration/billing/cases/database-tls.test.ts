import { writeFileSync } from 'node:fs'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPool } from '#apps/billing/database/open-pool.ts'
import { createAuthority, mountSecret } from '../../../support/certificates.ts'
import { createSecurePostgres, type SecurePostgres } from '../../../support/secure-postgres.ts'
import { log, openBillingDatabase, reserveCall } from '../support/billing-database.ts'

const authority = createAuthority()
const stranger = createAuthority()

/** The database user, which the client certificates must name. */
const USER = 'millrace'
const trusted = { ca: authority.ca, certificate: authority.issue(USER) }

let postgres: SecurePostgres

beforeAll(async () => {
  postgres = await createSecurePostgres(authority)
})
afterAll(async () => await postgres.stop())

test('money moves over TLS, with certificates on both sides', async () => {
  const database = await openBillingDatabase({ url: postgres.secureUrl(trusted) })
  const { keyId } = await database.createAccount(1_000n)
  expect(await database.money.reserve([reserveCall(keyId)])).toMatchObject([{ status: 'granted' }])
  const { rows } = await database.pool.query(
    `select distinct ssl, client_dn from pg_stat_ssl join pg_stat_activity using (pid) where datname = 'billing'`,
  )
  expect(rows).toEqual([{ ssl: true, client_dn: `/CN=${USER}` }])
  await database.close()
})

test.each<[string, () => string, RegExp]>([
  ['a client without a certificate', () => postgres.secureUrl({ ca: authority.ca }), /certificate/],
  [
    'a client with a certificate of another authority',
    () => postgres.secureUrl({ ...trusted, certificate: stranger.issue(USER) }),
    /unknown ca/,
  ],
  [
    "a client with another user's certificate",
    () => postgres.secureUrl({ ...trusted, certificate: authority.issue('somebody') }),
    /authentication failed/,
  ],
  ['a plaintext client', () => postgres.url('billing'), /no encryption/],
  [
    'a server of another authority',
    () => postgres.secureUrl({ ...trusted, ca: stranger.ca }),
    /self-signed certificate|unable to verify|unable to get/,
  ],
  [
    "a server under a name that is not its certificate's",
    () => postgres.secureUrl({ ...trusted, host: '127.0.0.1' }),
    /altname/,
  ],
])('%s is refused', async (_, url, reason) => {
  const refused = openPool({ url: url(), log, waitMs: 0 })
  await expect(refused).rejects.toMatchObject({ cause: { message: expect.stringMatching(reason) } })
})

test('a new connection uses renewed certificates, and those before them while the files cannot be used', async () => {
  const [first, second] = [authority.issue(USER), authority.issue(USER)]
  const secret = mountSecret({ ...first, ca: authority.ca })
  const lines: string[] = []
  const pool = await openPool({
    url: postgres.secureUrl({ ca: secret.ca, certificate: secret }),
    log: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }),
    waitMs: 5_000,
  })
  onTestFinished(() => pool.end())

  /** Returns the serial number of the client certificate on a new connection, and closes the connection afterwards. */
  const serial = async () => {
    const client = await pool.connect()
    const { rows } = await client.query<{ serial: string }>(
      'select client_serial::text as serial from pg_stat_ssl where pid = pg_backend_pid()',
    )
    client.release(true)
    return rows[0]?.serial
  }
  const before = await serial()
  secret.replace({ cert: second.cert, key: first.key, ca: authority.ca })
  expect(await serial()).toBe(before)
  const empty = `${first.cert}.empty`
  writeFileSync(empty, '')
  secret.replace({ ...second, ca: empty })
  expect(await serial()).toBe(before)
  expect(lines).toHaveLength(2)

  secret.replace({ ...second, ca: authority.ca })
  expect(await serial()).not.toBe(before)
  expect(lines).toHaveLength(2)
})
