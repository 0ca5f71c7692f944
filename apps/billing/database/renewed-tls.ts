import { createSecureContext } from 'node:tls'
import type { ClientConfig } from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { toAuthorities } from '#libs/certificates/pem-files.ts'
import type { Logger } from '#libs/telemetry/logger.ts'

/**
 * Returns `config` with a property `ssl` that reads, at each access, the certificate files that the URL names. If the
 * files cannot be used, this is logged once for each reason and the property keeps its last value: `pg` reads the
 * property within callbacks, so an exception would end the process. Throws when the files cannot be used at the first
 * read.
 */
export function toRenewedTls(config: ClientConfig, log: Logger): ClientConfig {
  const { connectionString: url = '', ...settings } = config
  const names = new URL(url).searchParams
  if (!FILES.some((name) => names.has(name))) return config

  let last = readTls(url)
  let logged: string | null = null
  const readOrKeep = () => {
    try {
      last = readTls(url)
      logged = null
    } catch (error) {
      const reason = String(error)
      if (reason !== logged)
        log.error({ err: error }, 'renewed certificates cannot be used, the old ones stay')
      logged = reason
    }
    return last
  }
  return Object.defineProperty({ ...parseIntoClientConfig(url), ...settings }, 'ssl', {
    enumerable: true,
    get: readOrKeep,
  })
}

const FILES = ['sslrootcert', 'sslcert', 'sslkey']

function readTls(url: string): ClientConfig['ssl'] {
  const { ssl } = parseIntoClientConfig(url)
  if (typeof ssl !== 'object') return ssl
  createSecureContext(ssl)
  const authorities = new URL(url).searchParams.get('sslrootcert')
  if (authorities !== null) toAuthorities(String(ssl.ca), authorities)
  return ssl
}
