import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '#libs/telemetry/logger.ts'

/**
 * The pause between two readings. A pause of this length is short enough: renewals come days before a certificate ends,
 * and a kubelet itself needs up to a minute to replace the files of a Secret.
 */
const REREAD_MS = 10_000

/**
 * Reads certificates again every 10 s and calls `use` when they differ from the certificates in use. When `read`
 * rejects, its error is logged once for each reason, and the certificates in use stay. Contents are compared, because a
 * kubelet replaces a Secret's files by a link, which a file watch may miss. Returns a function that stops reading.
 */
export function followRenewals<Certificates>(options: {
  /** Rejects when the files cannot be used, as `readPair` and `readAuthorities` do. */
  read: () => Promise<Certificates>
  inUse: Certificates
  use: (certificates: Certificates) => void
  log: Logger
  everyMs?: number
}): () => void {
  const { read, use, log, everyMs = REREAD_MS } = options
  let { inUse } = options
  let logged: string | null = null
  let isStopped = false
  let timer = setTimeout(check, everyMs).unref()

  function check() {
    void renew().finally(() => {
      if (!isStopped) timer = setTimeout(check, everyMs).unref()
    })
  }

  async function renew() {
    try {
      const found = await read()
      logged = null
      if (isStopped || isDeepStrictEqual(found, inUse)) return
      use(found)
      inUse = found
      log.info('renewed certificates are used for new connections')
    } catch (error) {
      const reason = String(error)
      if (reason !== logged)
        log.error({ err: error }, 'renewed certificates cannot be used, the old ones stay')
      logged = reason
    }
  }

  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}
