import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createDrain } from '#apps/worker/drain.ts'

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

test('POST /drain answers at once; a GET, as a probe sends it, drains nothing', async () => {
  const { drain, seen } = await setUp()
  const server = createServer(drain.route).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${toAddress(server.address()).port}/drain`
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
