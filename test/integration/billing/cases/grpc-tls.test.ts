import { describe, expect, onTestFinished } from 'vitest'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import type { BillingKey } from '#libs/billing-client/billing-calls.ts'
import { createBillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import {
  openChannelCredentials,
  openServerCredentials,
  type ClientTlsFiles,
  type ServerTlsFiles,
} from '#libs/grpc/open-credentials.ts'
import { createAuthority } from '../../../support/certificates.ts'
import { log, reserveCall, type BillingDatabase, type BillingServer } from '../support/billing-database.ts'
import { test as base } from '../support/billing-test.ts'

const authority = createAuthority()
const stranger = createAuthority()
const gateway = authority.issue('gateway')
const none = { ca: undefined, cert: undefined, key: undefined }

type Account = Awaited<ReturnType<BillingDatabase['createAccount']>>

const test = base
  .extend('account', { scope: 'file' }, ({ fileDatabase }) => fileDatabase.createAccount(1_000_000n))
  .extend('server', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }) => {
    const server = await serve(fileDatabase, { ...authority.issue('localhost'), clientCa: authority.ca })
    onCleanup(() => server.stop())
    return server
  })

async function connect(server: BillingServer, files: ClientTlsFiles) {
  const address = server.address.replace('127.0.0.1', 'localhost')
  const { credentials, close } = await openChannelCredentials(files, { log })
  const client = createBillingClient({ address, credentials, timeoutMs: 5_000 })
  onTestFinished(() => {
    client.close()
    close()
  })
  return client
}

async function serve(database: BillingDatabase, files: ServerTlsFiles): Promise<BillingServer> {
  const { credentials, close } = await openServerCredentials(files, { log })
  const server = await database.serve({ credentials })
  return {
    ...server,
    async stop() {
      await server.stop()
      close()
    },
  }
}

const SERVED = ['found', 'granted']
const REFUSED = ['unavailable', 'unavailable']

/** Returns the results of a look-up of the key and of a reserve with it. */
async function ask(account: Account, server: BillingServer, files: ClientTlsFiles): Promise<string[]> {
  const client = await connect(server, files)
  const unavailable = (error: unknown) => {
    if (error instanceof BillingUnavailable) return 'unavailable'
    throw error
  }
  const found = (key: BillingKey | null) => (key?.keyId === account.keyId ? 'found' : 'unknown')
  return [
    await client.lookUpKey(hashApiKey(account.secret)).then(found, unavailable),
    await client.reserve(reserveCall(account.keyId)).then(({ status }) => status, unavailable),
  ]
}

describe('billing with a certificate that asks gateways for theirs', () => {
  test('serves a gateway with a certificate of its authority', async ({ account, server }) => {
    expect(await ask(account, server, { ca: authority.ca, ...gateway })).toEqual(SERVED)
  })

  test.for<[string, ClientTlsFiles]>([
    ['without a certificate', { ...none, ca: authority.ca }],
    ['with a certificate of another authority', { ca: authority.ca, ...stranger.issue('gateway') }],
    ['in plaintext', none],
  ])('refuses a gateway %s', async ([, files], { account, server }) => {
    expect(await ask(account, server, files)).toEqual(REFUSED)
  })

  test('is refused by a gateway that trusts another authority', async ({ account, server }) => {
    expect(await ask(account, server, { ca: stranger.ca, ...gateway })).toEqual(REFUSED)
  })
})

test("billing whose certificate is another host's is refused", async ({ database, account }) => {
  const server = await serve(database, { ...authority.issue('elsewhere'), clientCa: undefined })
  onTestFinished(() => server.stop())
  expect(await ask(account, server, { ...none, ca: authority.ca })).toEqual(REFUSED)
})

test('billing with only a certificate serves clients that trust it, and none in plaintext', async ({
  database,
  account,
}) => {
  const server = await serve(database, { ...authority.issue('localhost'), clientCa: undefined })
  onTestFinished(() => server.stop())
  expect(await ask(account, server, { ...none, ca: authority.ca })).toEqual(SERVED)
  expect(await ask(account, server, none)).toEqual(REFUSED)
})

test('a gateway that expects a certificate is not served in plaintext', async ({ database, account }) => {
  const server = await database.serve()
  onTestFinished(() => server.stop())
  expect(await ask(account, server, { ...none, ca: authority.ca })).toEqual(REFUSED)
})

test('files that cannot be used are named', async ({ database }) => {
  const pair = { cert: gateway.cert, key: authority.issue('other').key }
  const open = async (files: ClientTlsFiles) => await openChannelCredentials(files, { log })
  await expect(serve(database, { ...pair, clientCa: undefined })).rejects.toThrow(pair.key)
  await expect(open({ ...pair, ca: authority.ca })).rejects.toThrow(pair.key)
  await expect(serve(database, { ...gateway, clientCa: gateway.key })).rejects.toThrow(gateway.key)
  await expect(open({ ...none, ca: gateway.key })).rejects.toThrow(gateway.key)
  await expect(open({ ...none, ca: '/nowhere/ca.crt' })).rejects.toThrow('/nowhere/ca.crt')
})
