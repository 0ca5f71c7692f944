import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hashApiKey } from '#libs/api-key/api-key.ts'
import type { BillingKey } from '#libs/billing-client/billing-calls.ts'
import { createBillingClient } from '#libs/billing-client/billing-client.ts'
import { BillingUnavailable } from '#libs/billing-client/billing-unavailable.ts'
import {
  readChannelCredentials,
  readServerCredentials,
  type ClientTlsFiles,
} from '#libs/grpc/read-credentials.ts'
import { createAuthority } from '../../../support/certificates.ts'
import {
  openBillingDatabase,
  reserveCall,
  type BillingDatabase,
  type BillingServer,
} from '../support/billing-database.ts'

const authority = createAuthority()
const stranger = createAuthority()
const gateway = authority.issue('gateway')
const none = { ca: undefined, cert: undefined, key: undefined }

let database: BillingDatabase
let account: Awaited<ReturnType<BillingDatabase['createAccount']>>

beforeAll(async () => {
  database = await openBillingDatabase()
  account = await database.createAccount(1_000_000n)
})
afterAll(async () => await database.close())

function connect(server: BillingServer, files: ClientTlsFiles) {
  const address = server.address.replace('127.0.0.1', 'localhost')
  const client = createBillingClient({
    address,
    credentials: readChannelCredentials(files),
    timeoutMs: 5_000,
  })
  onTestFinished(() => client.close())
  return client
}

const SERVED = ['found', 'granted']
const REFUSED = ['unavailable', 'unavailable']

/** What a look-up of the key and a reserve with it come to. */
async function ask(client: ReturnType<typeof connect>): Promise<string[]> {
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
  let server: BillingServer
  beforeAll(async () => {
    const files = { ...authority.issue('localhost'), clientCa: authority.ca }
    server = await database.serve({ credentials: readServerCredentials(files) })
  })
  afterAll(async () => await server.stop())

  test('serves a gateway with a certificate of its authority', async () => {
    expect(await ask(connect(server, { ca: authority.ca, ...gateway }))).toEqual(SERVED)
  })

  test.each<[string, ClientTlsFiles]>([
    ['without a certificate', { ...none, ca: authority.ca }],
    ['with a certificate of another authority', { ca: authority.ca, ...stranger.issue('gateway') }],
    ['in plaintext', none],
  ])('refuses a gateway %s', async (_, files) => {
    expect(await ask(connect(server, files))).toEqual(REFUSED)
  })

  test('is refused by a gateway that trusts another authority', async () => {
    expect(await ask(connect(server, { ca: stranger.ca, ...gateway }))).toEqual(REFUSED)
  })
})

test("billing whose certificate is another host's is refused", async () => {
  const files = { ...authority.issue('elsewhere'), clientCa: undefined }
  const server = await database.serve({ credentials: readServerCredentials(files) })
  onTestFinished(() => server.stop())
  expect(await ask(connect(server, { ...none, ca: authority.ca }))).toEqual(REFUSED)
})

test('billing with only a certificate serves clients that trust it, and none in plaintext', async () => {
  const files = { ...authority.issue('localhost'), clientCa: undefined }
  const server = await database.serve({ credentials: readServerCredentials(files) })
  onTestFinished(() => server.stop())
  expect(await ask(connect(server, { ...none, ca: authority.ca }))).toEqual(SERVED)
  expect(await ask(connect(server, none))).toEqual(REFUSED)
})

test('a gateway that expects a certificate is not served in plaintext', async () => {
  const server = await database.serve()
  onTestFinished(() => server.stop())
  expect(await ask(connect(server, { ...none, ca: authority.ca }))).toEqual(REFUSED)
})

test('files that cannot be used are named', () => {
  const pair = { cert: gateway.cert, key: authority.issue('other').key }
  expect(() => readServerCredentials({ ...pair, clientCa: undefined })).toThrow(pair.key)
  expect(() => readChannelCredentials({ ...pair, ca: authority.ca })).toThrow(pair.key)
  expect(() => readServerCredentials({ ...gateway, clientCa: gateway.key })).toThrow(gateway.key)
  expect(() => readChannelCredentials({ ...none, ca: gateway.key })).toThrow(gateway.key)
  expect(() => readChannelCredentials({ ...none, ca: '/nowhere/ca.crt' })).toThrow('/nowhere/ca.crt')
})
