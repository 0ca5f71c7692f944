import type { RedisPlace } from '#libs/config/redis-fields.ts'
import type { TestAuthority } from './certificates.ts'
import { freePort } from './free-port.ts'
import { startLocalRedis } from './local-servers.ts'
import { startSentinel } from './redis-sentinel.ts'
import { scratchData } from './run-folder.ts'

export const SECURE_USER = 'app'
const PASSWORD = 'p@ss/word'
const ROOT = 'test'

export type SecureRedis = {
  place: RedisPlace
  /** The administrator's URL, on a separate unencrypted port. */
  url: string
  stop(): Promise<void>
}

/**
 * Starts one server that has a certificate for `localhost` and an ACL user for the apps. Depending on `mode`, it is a
 * single server, a Cluster of one node, or the master of a sentinel. The sentinel has the same certificate.
 */
export async function createSecureRedis(
  authority: TestAuthority,
  mode: RedisPlace['mode'],
): Promise<SecureRedis> {
  const [tlsPort, busPort, sentinelPort] = [await freePort(), await freePort(), await freePort()]
  const { cert, key } = authority.issue('localhost')
  const tls = { 'tls-cert-file': cert, 'tls-key-file': key, 'tls-ca-cert-file': authority.ca }
  const server = await startLocalRedis(scratchData('redis-secure'), {
    settings: {
      ...tls,
      'tls-port': String(tlsPort),
      'tls-auth-clients': 'no',
      user: `${SECURE_USER} on >${PASSWORD} ~* &* +@all`,
      ...(mode === 'cluster'
        ? {
            'cluster-enabled': 'yes',
            'tls-cluster': 'yes',
            'cluster-port': String(busPort),
            'cluster-announce-hostname': 'localhost',
            'cluster-preferred-endpoint-type': 'hostname',
          }
        : {}),
    },
  })
  const credentials = `${SECURE_USER}:${encodeURIComponent(PASSWORD)}`
  const url = `rediss://${credentials}@localhost:${tlsPort}`
  if (mode === 'single') return { place: { mode, url }, url: server.url, stop: server.stop }
  if (mode === 'cluster') return { place: { mode, urls: [url] }, url: server.url, stop: server.stop }
  const [plainPort, name] = [await freePort(), 'secure_master']
  const sentinel = await startSentinel({
    url: `redis://127.0.0.1:${plainPort}`,
    configuration: [
      ...Object.entries(tls).map((setting) => setting.join(' ')),
      `port ${plainPort}`,
      `tls-port ${sentinelPort}`,
      'tls-auth-clients no',
      'tls-replication yes',
      'sentinel resolve-hostnames yes',
      'sentinel announce-hostnames yes',
      `sentinel monitor ${name} localhost ${tlsPort} 1`,
      `sentinel auth-pass ${name} ${ROOT}`,
    ],
  })
  return {
    place: {
      mode,
      url: `rediss://${credentials}@${name}`,
      sentinels: [`localhost:${sentinelPort}`],
      sentinelPassword: undefined,
    },
    url: server.url,
    async stop() {
      await sentinel.stop()
      await server.stop()
    },
  }
}
