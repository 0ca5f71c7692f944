import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { toNetwork } from './to-network.ts'

export type ConnectionLimits = {
  readonly connections: number
  /** Addresses and ranges whose connections carry the requests of many clients. */
  readonly trustedProxies: readonly string[]
}

/** The share of all connections that one network may have, so that no client can have all of them. */
const SHARE_OF_NETWORK = 1 / 2

/**
 * Bounds the open connections: at most `connections` in all, and at most half of them from one network. The second
 * bound does not apply to trusted proxies. A connection beyond a bound is closed at once, because an answer would use
 * the bounded resources.
 */
export function boundConnections(
  app: FastifyInstance,
  { limits, onRefused }: { limits: ConnectionLimits; onRefused: (bound: 'all' | 'address') => void },
): void {
  const { server } = app
  const proxies = toBlockList(limits.trustedProxies)
  const openByNetwork = new Map<string, number>()
  server.maxConnections = limits.connections
  server.on('drop', () => onRefused('all'))
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket
    if (address === undefined || proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return
    const network = toNetwork(address)
    const open = (openByNetwork.get(network) ?? 0) + 1
    openByNetwork.set(network, open)
    socket.on('close', () => {
      const left = (openByNetwork.get(network) ?? 1) - 1
      if (left > 0) openByNetwork.set(network, left)
      else openByNetwork.delete(network)
    })
    if (open <= limits.connections * SHARE_OF_NETWORK) return
    onRefused('address')
    socket.destroy()
  })
}

function toBlockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return list
}
