import { ServerResponse } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { toNetwork } from '#libs/rate-limit/to-network.ts'

export type ConnectionLimits = {
  readonly connections: number
  /** How long a client may leave the rest of an answer unread, in seconds. */
  readonly lastReadS: number
  /** Addresses and ranges whose connections carry the requests of many clients. */
  readonly trustedProxies: readonly string[]
}

/** The share of all connections that one network may have, so that no client can have all of them. */
const SHARE_OF_NETWORK = 1 / 2
/** Beyond this share of all connections, idle connections are closed, so that the rest is free for new ones. */
const CROWDED_SHARE = 3 / 4

/**
 * Bounds the open connections: at most `connections` in all, and at most half of them from one network. The second
 * bound does not apply to trusted proxies. A connection beyond a bound is closed at once, because an answer would use
 * the bounded resources. Before the first bound is reached, the networks with the most connections lose those without
 * a request in progress, once a second.
 */
export function boundConnections(
  app: FastifyInstance,
  options: {
    limits: ConnectionLimits
    everySecond: (run: () => void) => () => void
    onRefused: (bound: 'all' | 'address' | 'idle') => void
  },
): void {
  const { limits, onRefused } = options
  const { server } = app
  const proxies = toBlockList(limits.trustedProxies)
  const networks = new Map<string, Set<Socket>>()
  const all = new Set<Socket>()

  const stop = options.everySecond(() => {
    for (const socket of all) limitReading(socket, limits.lastReadS * 1_000)
    let excess = all.size - limits.connections * CROWDED_SHARE
    if (excess <= 0) return
    for (const sockets of [...networks.values()].toSorted((a, b) => b.size - a.size)) {
      for (const socket of sockets) {
        if (responseOf(socket) !== null) continue
        onRefused('idle')
        socket.destroy()
        all.delete(socket)
        excess -= 1
        if (excess <= 0) return
      }
    }
  })
  app.addHook('onClose', async () => stop())
  server.maxConnections = limits.connections
  server.on('drop', () => onRefused('all'))
  server.on('connection', (socket: Socket) => {
    const { remoteAddress: address } = socket
    all.add(socket)
    if (address === undefined || proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
      socket.on('close', () => all.delete(socket))
      return
    }
    const network = toNetwork(address)
    const open = networks.get(network) ?? new Set()
    networks.set(network, open.add(socket))
    socket.on('close', () => {
      all.delete(socket)
      open.delete(socket)
      if (open.size === 0) networks.delete(network)
    })
    if (open.size <= limits.connections * SHARE_OF_NETWORK) return
    onRefused('address')
    socket.destroy()
  })
}

/** Returns the response of the request in progress; null if the connection waits for a request or its header. */
function responseOf(socket: Socket): ServerResponse | null {
  const response = '_httpMessage' in socket ? socket._httpMessage : null
  return response instanceof ServerResponse ? response : null
}

/** If the answer has ended and is not read, limits the time in which nothing of it is read. Node ends this limit. */
function limitReading(socket: Socket, limitMs: number): void {
  if (socket.writableLength === 0 || responseOf(socket)?.writableEnded !== true) return
  if (socket.timeout !== limitMs) socket.setTimeout(limitMs)
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
