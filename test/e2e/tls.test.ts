import { Client } from 'pg'
import { expect, test } from 'vitest'
import { ADMIN } from '#libs/admin-contract/admin-contract.ts'
import { expectBalancedBooks } from '../support/books.ts'
import { createAuthority } from '../support/certificates.ts'
import { chat, chatOk } from '../support/chat.ts'
import { startCluster } from '../support/cluster.ts'
import { createSecurePostgres } from '../support/secure-postgres.ts'

test('gateway, billing and database work with certificates on both sides of each connection', async () => {
  const authority = createAuthority()
  const postgres = await createSecurePostgres(authority)
  const databaseUrl = postgres.secureUrl({ ca: authority.ca, certificate: authority.issue('millrace') })
  const [billing, gateway] = [authority.issue('localhost'), authority.issue('gateway')]
  const cluster = await startCluster({
    billingEnv: {
      DATABASE_URL: databaseUrl,
      GRPC_TLS_CERT_FILE: billing.cert,
      GRPC_TLS_KEY_FILE: billing.key,
      GRPC_TLS_CLIENT_CA_FILE: authority.ca,
    },
    billingHost: 'localhost',
    gatewayEnv: {
      BILLING_TLS_CA_FILE: authority.ca,
      BILLING_TLS_CERT_FILE: gateway.cert,
      BILLING_TLS_KEY_FILE: gateway.key,
    },
  })
  const account = await cluster.createAccount('10')
  const call = { baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hello' }
  expect((await chatOk(call)).text).toBe('You said: Hello')
  await cluster.admin.call(ADMIN.revokeKey, { key: account.keyId })
  await expect.poll(async () => (await chat(call)).status, { timeout: 4_000, interval: 20 }).toBe(401)
  await expectBalancedBooks(cluster, [account])

  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query(
    `select application_name, bool_and(ssl) as secure, count(*) > 1 as many
     from pg_stat_ssl join pg_stat_activity using (pid) where application_name <> '' group by application_name`,
  )
  expect(rows).toEqual([{ application_name: 'millrace-billing', secure: true, many: true }])
  await client.end()
  await cluster.stop()
  await postgres.stop()
})
