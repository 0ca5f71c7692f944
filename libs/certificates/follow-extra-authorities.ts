import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Logger } from '#libs/telemetry/logger.ts'
import { followRenewals } from './follow-renewals.ts'
import { toAuthorities } from './pem-files.ts'

/**
 * Keeps this process's trust in the file of NODE_EXTRA_CA_CERTS as the file is now; Node reads it only once. Affects every
 * TLS connection that names no authority of its own, such as those to Redis. Returns a function that ends it.
 */
export function followExtraAuthorities(options: {
  /** Undefined: there is no such file. */
  file: string | undefined
  log: Logger
  everyMs?: number
}): () => void {
  const { file, ...rest } = options
  if (file === undefined || file === '') return () => {}
  const atStart = getCACertificates('extra')
  let others: readonly string[] | null = null
  // The file may be a system's whole bundle, and parsing hundreds of certificates again would delay requests.
  let last: { text: string; authorities: string[] } | null = null
  return followRenewals({
    async read() {
      const text = await readFile(file, 'latin1')
      if (text !== last?.text) last = { text, authorities: toAuthorities(text, file) }
      return last.authorities
    },
    // A file that could not be read at the start counts as renewed once it can.
    inUse: atStart,
    use(authorities) {
      others ??= defaultWithout(atStart)
      setDefaultCACertificates([...others, ...authorities])
    },
    ...rest,
  })
}

/** The authorities of the file come last. They are cut off by position, because the file may repeat trusted ones. */
function defaultWithout(extra: readonly string[]): readonly string[] {
  const all = getCACertificates('default')
  return all.slice(0, all.length - extra.length)
}
