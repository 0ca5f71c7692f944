/**
 * Returns the bus server of a gateway: the gateway subscribes there, and workers publish to it there. A hash of the
 * gateway's boot id selects the server, so all processes must have the same servers in the same order.
 */
export function toBusServer<Server>(gateway: string, servers: readonly [Server, ...Server[]]): Server {
  // FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(gateway)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return servers[hash % servers.length] ?? servers[0]
}
