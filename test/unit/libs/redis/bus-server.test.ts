import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { toBusServer } from '#libs/redis/bus-server.ts'

const gateways = Array.from({ length: 1_000 }, (_, number) => {
  const text = createHash('md5').update(String(number)).digest('hex')
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
})

test('gateways are spread evenly over the servers', () => {
  const servers = ['a', 'b', 'c'] as const
  const counts = Map.groupBy(gateways, (gateway) => toBusServer(gateway, servers))
  for (const server of servers) expect(counts.get(server)?.length).toBeGreaterThan(280)
})

test('every process finds the same server', () => {
  expect(toBusServer('gateway-1', ['a', 'b', 'c', 'd'])).toBe('d')
  expect(gateways.map((gateway) => toBusServer(gateway, ['only']))).toEqual(gateways.map(() => 'only'))
})
