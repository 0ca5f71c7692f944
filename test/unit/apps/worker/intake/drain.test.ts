import { once } from 'node:events'
import { createServer, request, type IncomingMessage, type RequestOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createDrain, type Drain } from '#apps/worker/intake/drain.ts'

async function setUp() {
  const { promise: drained, resolve } = Promise.withResolvers<void>()
  const seen = { drains: 0, nowMs: 1_000 }
  const drain = createDrain({
    async drainEngines() {
      seen.drains += 1
      await drained
    },
    nowMs: () => seen.nowMs,
    log: pino({ level: 'silent' }),
  })
  return { drain, seen, finish: resolve }
}

test('one drain serves all who ask for it, and it lasts', async () => {
  const { drain, seen, finish } = await setUp()
  expect(drain.isDraining()).toBe(false)
  expect(drain.ms()).toBe(0)
  drain.start()
  seen.nowMs += 2_000
  expect(drain.ms()).toBe(2_000)
  const ends = [drain.untilDrained(), drain.untilDrained()]
  expect([drain.isDraining(), seen.drains]).toEqual([true, 1])
  finish()
  await Promise.all(ends)
  seen.nowMs += 5_000
  expect(drain.ms()).toBe(2_000)
  drain.start()
  expect([drain.isDraining(), seen.drains]).toEqual([true, 1])
})

async function serve(drain: Drain, host: string): Promise<number> {
  const server = createServer(drain.route).listen(0, host)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return toAddress(server.address()).port
}

async function post(options: RequestOptions): Promise<number | undefined> {
  const sent = request({ method: 'POST', path: '/drain', agent: false, ...options })
  sent.end()
  const [answer]: IncomingMessage[] = await once(sent, 'response')
  answer?.resume()
  return answer?.statusCode
}

test.each([
  ['from another address, as a service mesh passes it on', { host: '127.0.0.1', localAddress: '127.0.0.6' }],
  ['to another address of the host', { host: '127.0.0.2' }],
  ['of a page in a browser', { host: '127.0.0.1', headers: { origin: 'http://127.0.0.1:3000' } }],
  [
    'of a page in a browser that hides its origin',
    { host: '127.0.0.1', headers: { 'sec-fetch-site': 'none' } },
  ],
])('POST /drain %s drains nothing', async (_, options) => {
  const { drain, seen } = await setUp()
  const port = await serve(drain, '0.0.0.0')
  expect(await post({ port, ...options })).toBe(403)
  expect([drain.isDraining(), seen.drains]).toEqual([false, 0])
  expect(await post({ port, host: '127.0.0.1' })).toBe(202)
  expect([drain.isDraining(), seen.drains]).toEqual([true, 1])
})

test('POST /drain is answered on a port for both families too', async () => {
  const { drain } = await setUp()
  expect(await post({ port: await serve(drain, '::'), host: '127.0.0.1' })).toBe(202)
})

test('POST /drain answers at once; a GET, as a probe sends it, drains nothing', async () => {
  const { drain, seen } = await setUp()
  const url = `http://127.0.0.1:${await serve(drain, '127.0.0.1')}/drain`
  expect((await fetch(url)).status).toBe(405)
  expect([drain.isDraining(), seen.drains]).toEqual([false, 0])
  const answer = await fetch(url, { method: 'POST' })
  expect([answer.status, await answer.text()]).toEqual([202, 'draining\n'])
  expect([drain.isDraining(), seen.drains]).toEqual([true, 1])
})

function toAddress(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('no address')
  return address
}
