import { chownSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { postgresUser } from '#scripts/servers/postgres-user.ts'
import type { TestAuthority, TestCertificate } from './certificates.ts'
import { createPostgres, type TestPostgres } from './postgres.ts'
import { scratchFolder } from './run-folder.ts'

/**
 * The access rules of the server (pg_hba.conf). The database `billing` accepts only TLS with a client certificate for
 * the user's name. The database `postgres` stays open for the test's set-up.
 */
const ACCESS = [
  'hostnossl postgres all 127.0.0.1/32 scram-sha-256',
  'hostssl billing all 127.0.0.1/32 scram-sha-256 clientcert=verify-full',
]

export type SecurePostgres = TestPostgres & {
  /**
   * Returns the URL of the database `billing`, with the client's certificate and the authority that the client trusts.
   */
  secureUrl(client: { host?: string; ca: string; certificate?: TestCertificate }): string
}

/** Starts a PostgreSQL like `createPostgres`, whose database `billing` requires TLS with a client certificate. */
export async function createSecurePostgres(authority: TestAuthority): Promise<SecurePostgres> {
  const { cert, key } = authority.issue('localhost')
  const access = join(scratchFolder('postgres-access'), 'pg_hba.conf')
  writeFileSync(access, `${ACCESS.join('\n')}\n`)
  const user = postgresUser()
  if (user !== undefined) for (const file of [key, access]) chownSync(file, user.uid, user.gid)
  const postgres = await createPostgres({
    ssl: 'on',
    ssl_cert_file: cert,
    ssl_key_file: key,
    ssl_ca_file: authority.ca,
    hba_file: access,
  })
  const client = new Client({ connectionString: postgres.url('postgres') })
  await client.connect()
  await client.query('create database billing')
  await client.end()
  return {
    ...postgres,
    secureUrl({ host = 'localhost', ca, certificate }) {
      const url = new URL(postgres.url('billing'))
      url.hostname = host
      url.searchParams.set('sslmode', 'verify-full')
      url.searchParams.set('sslrootcert', ca)
      if (certificate !== undefined) {
        url.searchParams.set('sslcert', certificate.cert)
        url.searchParams.set('sslkey', certificate.key)
      }
      return url.href
    },
  }
}
