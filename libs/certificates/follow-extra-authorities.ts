import { readFile } from 'node:fs/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import type { Logger } from '#libs/telemetry/logger.ts'
import { followRenewals } from './follow-renewals.ts'
import { toAuthorities } from './pem-files.ts'

/**
 * Keeps the authorities that this process trusts equal to the present content of the file named by NODE_EXTRA_CA_CERTS,
 * which Node itself reads only once. Affects every TLS connection that names no authority of its own, such as
 * connections to Redis. Returns a function that stops following.
 */
export function followExtraAuthorities(options: {
  /** Undefined if NODE_EXTRA_CA_CERTS is not set. */
  file: string | undefined
  log: Logger
  everyMs?: number
}): () => void {
  const { file, ...rest } = options
  if (file === undefined || file === '') return () => {}
  const atStart = getCACertificates('extra')
  let others: readonly string[] | null = null
  // The file is parsed only if its text has changed. It may be a system's whole bundle, and parsing hundreds of
  // certificates again would delay requests.
  let last: { text: string; authorities: string[] } | null = null
  return followRenewals({
    async read() {
      const text = await readFile(file, 'latin1')
      if (text !== last?.text) last = { text, authorities: toAuthorities(text, file) }
      return last.authorities
    },
    // A file that could not be read at the start counts as renewed as soon as it can be read.
    inUse: atStart,
    use(authorities) {
      others ??= defaultWithout(atStart)
      setDefaultCACertificates([...others, ...authorities])
    },
    ...rest,
  })
}

/**
 * Returns the default authorities without `extra`. `extra` are the authorities that Node itself has read from the file
 * of NODE_EXTRA_CA_CERTS. They come last in Node's list, so they are cut off by their position. Removing every
 * authority that is equal to one of `extra` would be wrong: the file may repeat authorities that Node trusts anyway,
 * and these must stay.
 */
function defaultWithout(extra: readonly string[]): readonly string[] {
  const all = getCACertificates('default')
  return all.slice(0, all.length - extra.length)
}
