import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { createBillingClient, type BillingClient } from '#libs/billing-client/billing-client.ts'
import { readHostPort } from '#libs/config/host-port.ts'
import { freePort } from '../../../support/free-port.ts'
import { type BillingDatabase, type BillingServer } from '../support/billing-database.ts'
import { test } from '../support/billing-test.ts'

/** Starts a replica. Its `calls` counts the money calls that it receives. */
async function startReplica(
  database: BillingDatabase,
  options: Parameters<BillingDatabase['serve']>[0] = {},
) {
  const replica = { calls: 0, address: '', stop: async () => {} }
  const server: BillingServer = await database.serve({ ...options, onCall: () => (replica.calls += 1) })
  onTestFinished(server.stop)
  return Object.assign(replica, server)
}

/** Starts a gateway's client. Records the states of its streams and the failures of its calls. */
function startClient(address: string) {
  const client: BillingClient = createBillingClient({ address, timeoutMs: 20_000, streamAgeMs: 150 })
  onTestFinished(client.close)
  const failures: unknown[] = []
  const states: boolean[] = []
  const onState = (connected: boolean) => void states.push(connected)
  client.watchKeys({ onChanges: () => {}, onState })
  client.watchCatalog({ onCatalog: () => {}, onState })
  return {
    failures,
    states,
    /** Returns a function that makes one call, and returns the number of calls that the replica has received so far. */
    callsOf: (replica: { calls: number }) => async () => {
      await client.release(randomUUID()).catch((error: unknown) => failures.push(error))
      return replica.calls
    },
  }
}

const POLL = { interval: 20 }

test('replicas at several addresses share the calls, and one that comes back gets its share', async ({
  database,
}) => {
  const [first, address] = [await startReplica(database), `127.0.0.1:${await freePort()}`]
  const second = await startReplica(database, { address })
  const client = startClient(`${first.address},${address}`)
  await expect.poll(client.callsOf(first), POLL).toBeGreaterThan(2)
  await expect.poll(client.callsOf(second), POLL).toBeGreaterThan(2)
  await second.stop()
  const before = first.calls
  await expect.poll(client.callsOf(first), POLL).toBeGreaterThan(before + 2)
  const again = await startReplica(database, { address })
  await expect.poll(client.callsOf(again), POLL).toBeGreaterThan(2)
  expect(client.failures).toEqual([])
})

test('behind one address, connections end at their age, and a new replica gets calls; nothing is cut off', async ({
  database,
}) => {
  // The grace is much longer than a call, because the machine may be busy. The age is longer than a busy machine needs
  // for a new connection and a call: a call that two connections in a row have refused is not sent a third time.
  const connections = { ageMs: 1_000, graceMs: 5_000 }
  const first = await startReplica(database, { connections })
  const targets = [first.address]
  let opened = 0
  const service = createServer((socket) => {
    const target = connect(readHostPort(targets[opened % targets.length] ?? first.address))
    opened += 1
    socket.pipe(target).pipe(socket)
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  onTestFinished(() => void service.close())
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion, typescript/consistent-type-assertions
  const { port } = service.address() as AddressInfo
  const client = startClient(`127.0.0.1:${port}`)
  await expect.poll(client.callsOf(first), POLL).toBeGreaterThan(2)

  const second = await startReplica(database, { connections })
  targets.push(second.address)
  await expect.poll(client.callsOf(second), POLL).toBeGreaterThan(2)
  const before = first.calls
  await expect.poll(client.callsOf(first), POLL).toBeGreaterThan(before + 2)
  // So many connections take longer than the age and the grace of the first connection, which is closed by then.
  await expect.poll(async () => [await client.callsOf(first)(), opened][1], POLL).toBeGreaterThan(8)
  expect(client.failures).toEqual([])
  expect(client.states).toEqual([true, true])
})
