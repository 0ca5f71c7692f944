import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:tls'
import { Client, connectivityState, Server } from '@grpc/grpc-js'
import { pino } from 'pino'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import {
  openChannelCredentials,
  openServerCredentials,
  type ClientTlsFiles,
  type ServerTlsFiles,
} from '#libs/grpc/open-credentials.ts'
import { bindGrpc } from '#libs/grpc/serve-grpc.ts'
import { createAuthority, mountSecret, type TestCertificate } from '../../support/certificates.ts'
import { until } from '../../support/until.ts'

const [authority, next] = [createAuthority(), createAuthority()]
const none = { cert: undefined, key: undefined, ca: undefined }

const lines: string[] = []
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
const EVERY_MS = 20

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.forceShutdown()
})

/** Starts a server without services, because the tests only need connections. */
async function serve(files: ServerTlsFiles): Promise<number> {
  const { credentials, close } = await openServerCredentials(files, { log, everyMs: EVERY_MS })
  const server = new Server()
  servers.push(server)
  onTestFinished(close)
  return await bindGrpc(server, '127.0.0.1:0', credentials)
}

async function openClient(port: number, files: ClientTlsFiles): Promise<Client> {
  const { credentials, close } = await openChannelCredentials(files, { log, everyMs: EVERY_MS })
  const client = new Client(`localhost:${port}`, credentials, {
    'grpc.initial_reconnect_backoff_ms': 20,
    'grpc.max_reconnect_backoff_ms': 50,
  })
  onTestFinished(() => {
    client.close()
    close()
  })
  return client
}

/** Returns whether the client is connected. If it is not, it is made to connect. */
const isConnected = async (client: Client) =>
  await Promise.resolve(client.getChannel().getConnectivityState(true) === connectivityState.READY)

/**
 * Returns whether a new connection is made and stays open. A server refuses a client only after the client's side of
 * the handshake has ended.
 */
async function connects(port: number, files: ClientTlsFiles): Promise<boolean> {
  const client = await openClient(port, files)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  client.makeUnaryRequest(
    '/none/None',
    () => Buffer.alloc(0),
    () => null,
    {},
    { deadline: Date.now() + 5_000 },
    (error) => resolve(error?.details.includes('does not implement') === true),
  )
  return await promise
}

/** Returns the fingerprint of the certificate that the server presents on a new connection. */
async function presented(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const fingerprintOf = ({ cert }: TestCertificate) => new X509Certificate(readFileSync(cert)).fingerprint256

test('a server presents its renewed certificate to new connections, and keeps those that it has', async () => {
  const [first, second] = [authority.issue('localhost'), authority.issue('localhost')]
  const secret = mountSecret({ ...first, ca: authority.ca })
  const port = await serve({ ...secret, clientCa: undefined })
  const client = await openClient(port, { ...none, ca: authority.ca })
  await until(async () => await isConnected(client))
  expect(await presented(port)).toBe(fingerprintOf(first))

  secret.replace({ ...second, ca: authority.ca })
  await until(async () => (await presented(port)) === fingerprintOf(second))
  expect(client.getChannel().getConnectivityState(false)).toBe(connectivityState.READY)
})

test('a server accepts clients of the authority that its file has now, and no others', async () => {
  const own = authority.issue('localhost')
  const [before, after] = [authority.issue('gateway'), next.issue('gateway')]
  const secret = mountSecret({ ...own, ca: authority.ca })
  const port = await serve({ ...secret, clientCa: secret.ca })
  expect(await connects(port, { ...before, ca: authority.ca })).toBe(true)
  expect(await connects(port, { ...after, ca: authority.ca })).toBe(false)

  secret.replace({ ...own, ca: next.ca })
  await until(async () => await connects(port, { ...after, ca: authority.ca }))
  expect(await connects(port, { ...before, ca: authority.ca })).toBe(false)
})

test('a client trusts a renewed authority and presents its renewed certificate without being opened again', async () => {
  const port = await serve({ ...next.issue('localhost'), clientCa: next.ca })
  const secret = mountSecret({ ...authority.issue('gateway'), ca: authority.ca })
  const client = await openClient(port, secret)
  await until(
    async () =>
      await Promise.resolve(
        client.getChannel().getConnectivityState(true) === connectivityState.TRANSIENT_FAILURE,
      ),
  )

  expect(await connects(port, secret)).toBe(false)
  secret.replace({ ...next.issue('gateway'), ca: next.ca })
  await until(async () => await isConnected(client))
  expect(await connects(port, secret)).toBe(true)
})

test('a renewal that cannot be used is logged, and the old certificate stays until a good one comes', async () => {
  const [first, second] = [authority.issue('localhost'), authority.issue('localhost')]
  const secret = mountSecret({ ...first, ca: authority.ca })
  const port = await serve({ ...secret, clientCa: secret.ca })
  const failures = () => lines.filter((line) => line.includes('cannot be used')).length
  const failed = failures()

  secret.replace({ cert: second.cert, key: first.key, ca: authority.ca })
  await until(async () => await Promise.resolve(failures() > failed))
  secret.replace({ ...second, ca: first.key })
  await until(async () => await Promise.resolve(failures() > failed + 1))
  expect(await presented(port)).toBe(fingerprintOf(first))
  expect(await connects(port, { ...authority.issue('gateway'), ca: authority.ca })).toBe(true)

  secret.replace({ ...second, ca: authority.ca })
  await until(async () => (await presented(port)) === fingerprintOf(second))
  expect(lines.join('')).not.toContain('PRIVATE KEY')
})
